"""Substitution by lines: what apache2 answered."""

from __future__ import annotations

import pytest

from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import ConfigError
from whimbrel.base.regex import compile_regex
from whimbrel.modules.filters.mod_substitute.lines import Cut, Rules, substitute_lines
from whimbrel.modules.filters.mod_substitute.patterns import NO_LIMIT, parse

TEXT = "aaab foo bar\nxx curlew xx\n\nlast a"
LIMIT = 1 << 20


class FakeCommand:
    """The part of a Command that `parse` reads."""

    def __init__(self, version: str = "2.4") -> None:
        self.dialect = V24 if version == "2.4" else V22
        self.is_22 = version == "2.2"

    def regex(self, pattern: str, *, ignore_case: bool = False) -> object:
        """Return the compiled expression."""
        return compile_regex(pattern, ignore_case=ignore_case, version22=self.is_22)


def substitute(*written: str, text: str = TEXT, limit: int = LIMIT, version: str = "2.4") -> str:
    """Return *text* after the patterns *written*."""
    cmd = FakeCommand(version)
    patterns = tuple(parse(cmd, each) for each in written)  # type: ignore[arg-type]
    return substitute_lines(Rules(patterns, limit, version == "2.2"), text)


@pytest.mark.parametrize(
    ("written", "want"),
    [
        (["s/^a/X/"], "XXXb foo bar\nxx curlew xx\n\nlast a"),
        (["s/ar./R/"], TEXT),
        (["s/.+/L/q"], "L\nL\n\nL"),
        (["s/(?s)ar./R/"], "aaab foo bRxx curlew xx\n\nlast a"),
        (["s/(?i)BAR./R/"], TEXT),
        (["s/[.]|r\\s/R/"], "aaab foo baRxx curlew xx\n\nlast a"),
        (["s/\\n$/N/"], "aaab foo barNxx curlew xxNNlast a"),
        (["s/a$/Z/"], "aaab foo bar\nxx curlew xx\n\nlast Z"),
        (["s/\\bx/B/"], "aaab foo bar\nBB curlew BB\n\nlast a"),
        (["s/(?<=a)a/L/"], "aLab foo bar\nxx curlew xx\n\nlast a"),
        (["s/[^x]+/R/"], "RxxRxxRRR"),
        (["s/a/\\n/"], "nnnb foo bnr\nxx curlew xx\n\nlnst n"),
        (["s/a/[\\$0]/"], "[$0][$0][$0]b foo b[$0]r\nxx curlew xx\n\nl[$0]st [$0]"),
        (["s/a/&&/"], "&&&&&&b foo b&&r\nxx curlew xx\n\nl&&st &&"),
        (["S/A/b/I"], "bbbb foo bbr\nxx curlew xx\n\nlbst b"),
        (["s/(a)|(x)/[$1,$2]/"], "[a,][a,][a,]b foo b[a,]r\n[,x][,x] curlew [,x][,x]\n\nl[a,]st [a,]"),
        (["s/curlew/godwit/q", "s/xx god/Y/", "s/god/Z/"], "aaab foo bar\nxx Zwit xx\n\nlast a"),
        (["s/^a/1/", "s/^a/2/"], "111b foo bar\nxx curlew xx\n\nlast a"),
        (["s/c(.)r/$1/q", "s/u/U/"], "aaab foo bar\nxx Ulew xx\n\nlast a"),
    ],
)
def test_patterns(written: list[str], want: str) -> None:
    assert substitute(*written) == want


@pytest.mark.parametrize("written", ["s/x*/-/", "s/$/E/", "s/^/>/", "s/.*/R/", "s/a|/b/", "s/x*//"])
def test_a_match_of_nothing_makes_the_line_too_long(written: str) -> None:
    with pytest.raises(Cut):
        substitute(written)


@pytest.mark.parametrize(
    ("written", "text", "limit", "fits"),
    [
        ("s/curlew/godwit/n", "curlew" + "x" * 93 + "\n", 100, True),
        ("s/curlew/godwit/n", "curlew" + "x" * 94 + "\n", 100, False),
        ("s/curlew/godwit/n", "y" * 300 + "\n", 100, True),
        ("s/cur(lew)/god$1/", "curlewxxxxx\n", 10, True),
        ("s/cur(lew)/god$1/", "short curlew\n", 10, False),
    ],
)
def test_the_limit(written: str, text: str, limit: int, fits: bool) -> None:
    if fits:
        assert len(substitute(written, text=text, limit=limit)) == len(text)
    else:
        with pytest.raises(Cut):
            substitute(written, text=text, limit=limit)


def test_lines_that_httpd_passed_on_precede_the_failure() -> None:
    short, long = "short\n", "curlew" + "x" * 200 + "\n"
    for count, passed in ((900, 0), (1100, 1001), (3000, 2002)):
        with pytest.raises(Cut) as caught:
            substitute("s/curlew/godwit/n", text=short * count + long, limit=100)
        assert caught.value.passed == short * passed


def test_22_keeps_backslashes_and_ends_texts_at_nul() -> None:
    assert substitute("s/(cur)(lew)/\\2\\1/", text="curlew", version="2.2", limit=NO_LIMIT) == "\\2\\1"
    assert substitute("s/a/b/", "s/x/y/", text="a\0a\n", version="2.2", limit=NO_LIMIT) == "b"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a/b/", "Bad Substitute format, must be an s/// pattern"),
        ("s", "Bad Substitute format, must be a complete s/// pattern"),
        ("s/a", "Bad Substitute format, must be a complete s/// pattern"),
        ("s//b/", "Bad Substitute format, must be a complete s/// pattern"),
        ("s/a/b/z", "Bad Substitute flag, only s///[infq] are supported"),
        ("s/(/b/", "Substitute could not compile regex"),
    ],
)
def test_wrong_patterns(written: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        substitute(written)
    assert message in str(caught.value)
