"""Lines that no request and no exact comparison depends on are named; those that one depends on are not."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.coverage.coverage import Coverage
from whimbrel.verify.coverage.decided_by import DecidedBy, decided_by
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import ProbePlan
from whimbrel.verify.side import Side
from whimbrel.verify.verification import DifferenceGroup, Verdict, VerifyResult
from whimbrel.verify.verify import Comparison, verify


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def compared(root: Path, old: str, new: str, dialects: tuple[str, str] = ("2.4", "2.4")) -> VerifyResult:
    return verify(side(root, "old", old, dialects[0]), side(root, "new", new, dialects[1]))


def reasons(result: VerifyResult) -> list[str]:
    return [one.reason for one in result.not_decided]


def test_a_line_without_influence_on_any_request_is_named(root: Path) -> None:
    """No request is of another year."""
    old = "RewriteEngine On\nRewriteCond %{TIME_YEAR} >3000\nRewriteRule ^/a - [F]"
    result = compared(root, old, old.replace("3000", "4000"))
    assert result.verdict is Verdict.NOT_DECIDED
    assert [one for one in reasons(result) if "old.conf" in one and "RewriteCond %{TIME_YEAR} >3000" in one]
    assert [one for one in reasons(result) if "new.conf" in one and "RewriteCond %{TIME_YEAR} >4000" in one]


@pytest.mark.parametrize(("length", "shown"), [(120, 120), (121, 117)])
def test_a_long_line_is_named_by_its_beginning(root: Path, length: int, shown: int) -> None:
    """The text and its dots have 120 characters."""
    condition = "RewriteCond %{TIME_YEAR} >".ljust(length, "3")
    old = f"RewriteEngine On\n{condition}\nRewriteRule ^/a - [F]"
    result = compared(root, old, old.replace("3", "4"))
    text = condition[:shown] + "..." * (shown < length)
    assert [one for one in reasons(result) if "old.conf" in one and f": {text}: " in one]


def test_an_exercised_line_is_not_named(root: Path) -> None:
    """The lists of fields differ in their order, and answers depend on each line."""
    lines = ["Header set X-A 1", "Header set X-B 2"]
    assert compared(root, "\n".join(lines), "\n".join(reversed(lines))).verdict is Verdict.SAME
    doubled = compared(root, lines[0], "Header set X-A 0\nHeader set X-A 1")
    assert reasons(doubled)[0].endswith("Header set X-A 0: no derived request shows its effect")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Header set X-A 1", "Header add X-A 1"),
        ("Header append Vary Cookie", "Header merge Vary Cookie"),
        ("Options Indexes FollowSymLinks", "Options Indexes FollowSymLinks MultiViews"),
        (
            "AddOutputFilter INCLUDES .shtml\nOptions IncludesNOEXEC",
            "AddOutputFilter INCLUDES .shtml\nOptions Includes",
        ),
        (
            "<FilesMatch a$>\nRequire all denied\n</FilesMatch>",
            "RegexDefaultOptions -DOLLAR_ENDONLY\n<FilesMatch a$>\nRequire all denied\n</FilesMatch>",
        ),
        (
            "<FilesMatch a.c>\nRequire all denied\n</FilesMatch>",
            "RegexDefaultOptions +ICASE\n<FilesMatch a.c>\nRequire all denied\n</FilesMatch>",
        ),
    ],
    ids=["add", "merge", "MultiViews", "Includes", "end of a pattern", "case of patterns"],
)
def test_an_exercised_line_does_not_decide_about_each_of_its_words(root: Path, old: str, new: str) -> None:
    sides = [
        side(root, name, text, "2.4", "include", "filter", "negotiation")
        for name, text in (("old", old), ("new", new))
    ]
    result = verify(sides[0], sides[1])
    assert result.verdict in (Verdict.NOT_DECIDED, Verdict.DIFFERENT)
    assert "new.conf" in str([*reasons(result), *(str(one.cause.new) for one in result.groups)])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("index.html", "index.html other.html", "no answer shows what other.html does"),
        (
            "other.html index.html",
            "index.html other.html",
            "no answer shows what the order of its words does",
        ),
        ("index.html a.html", "index.html b.html", "no answer shows what a.html in place of b.html does"),
    ],
    ids=["another word", "order", "one for the other"],
)
def test_the_words_that_no_answer_depends_on_are_named(root: Path, old: str, new: str, reason: str) -> None:
    text = '<Directory "@ROOT@/htdocs/private">\nDirectoryIndex {}\n</Directory>'
    both = "DirectoryIndex disabled\n" + text
    found = reasons(compared(root, both.format(old), both.format(new)))
    assert found[0].endswith(reason), found


def test_a_change_that_another_line_makes_up_for_is_decided(root: Path) -> None:
    """The old side shows what the other value does; on the new side a later section hides it."""
    private = '<Directory "@ROOT@/htdocs/private">\nHeader set X-A {}\n</Directory>'
    later = "\n<Location /private>\nHeader set X-A 1\n</Location>"
    found = reasons(compared(root, private.format(1), private.format(2) + later))
    assert not [one for one in found if "Header set X-A 2" in one or one.startswith("old: ")], found


@pytest.mark.parametrize(
    ("around", "verdict"), [("", Verdict.SAME), ("SetHandler server-status\n", Verdict.DIFFERENT)]
)
def test_the_tail_of_requests_counts_beside_a_status_page(root: Path, around: str, verdict: Verdict) -> None:
    texts = [f"<Location /s>\n{around}</Location>\nSeeRequestTail {one}" for one in ("Off", "On")]
    sides = [side(root, name, text, "2.4", "status") for name, text in zip("ab", texts, strict=True)]
    assert verify(sides[0], sides[1]).verdict is verdict


def test_a_line_that_no_record_shows_is_named(root: Path) -> None:
    """The engine accepts the directives of mod_proxy_ftp, and no setting shows what they say."""
    texts = [f"ProxyFtpDirCharset {one}" for one in ("UTF-8", "ISO-8859-1")]
    modules = ("proxy", "proxy_ftp")
    sides = [side(root, name, text, "2.4", *modules) for name, text in zip("ab", texts, strict=True)]
    result = verify(sides[0], sides[1])
    assert result.verdict is Verdict.NOT_DECIDED
    assert all("its effect cannot be compared" in one for one in reasons(result))


def test_a_name_that_is_tried_twice_is_no_difference(root: Path) -> None:
    line = "DirectoryIndex index.html main.htm"
    assert compared(root, line, f"{line}\n{line}").verdict is Verdict.SAME
    assert compared(root, line, f"{line}\nDirectoryIndex other.htm").verdict is not Verdict.SAME


def test_values_that_differ_are_a_difference_with_both_lines(root: Path) -> None:
    result = compared(root, "KeepAliveTimeout 5", "KeepAliveTimeout 50")
    (group,) = result.groups
    assert result.verdict is Verdict.DIFFERENT
    assert str(group.examples[0].difference) == "value of keepalivetimeout: 5 -> 50"
    assert [line.text for line in (*group.cause.old, *group.cause.new)] == [
        "KeepAliveTimeout 5",
        "KeepAliveTimeout 50",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("User daemon", "User nobody"),
        ("Group daemon", "Group nogroup"),
        ("GracefulShutdownTimeout 5", "GracefulShutdownTimeout 6"),
        ('ChrootDir "@ROOT@/htdocs"', 'ChrootDir "@ROOT@/conf"'),
        ("Listen 127.0.0.1:8081", "Listen 127.0.0.1:8082"),
    ],
)
def test_settings_of_the_process_are_compared_by_value(root: Path, lines: tuple[str, str]) -> None:
    result = verify(*(side(root, name, line, "2.4", "unixd") for name, line in zip("ab", lines, strict=True)))
    name = lines[0].partition(" ")[0].lower()
    found = [str(one.examples[0].difference) for one in result.groups]
    assert [one for one in found if one.startswith(f"value of {name}: ")], (found, reasons(result))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User daemon", "User nobody"),
        ("Group daemon", "Group nogroup"),
        ("RegexDefaultOptions +ICASE", "RegexDefaultOptions +ICASE"),
        ("GracefulShutdownTimeout 5", "GracefulShutdownTimeout 6"),
        ('ChrootDir "@ROOT@/htdocs"', 'ChrootDir "@ROOT@/conf"'),
        ("Suexec Off", "Suexec Off"),
    ],
)
def test_a_line_of_the_process_that_a_later_one_overrides_is_the_same(root: Path, old: str, new: str) -> None:
    name = old.partition(" ")[0]
    for first in (old, new):
        result = verify(
            *(
                side(root, side_name, text, "2.4", "unixd")
                for side_name, text in (("a", f"{first}\n{new}"), ("b", new))
            )
        )
        assert result.verdict is Verdict.SAME, (name, reasons(result))


def test_a_line_counts_for_what_it_sets(root: Path) -> None:
    """Not for another setting of its module, which another line gives another value."""
    old, new = (f"UseCanonicalName {on}\nKeepAliveTimeout {n}" for on, n in (("On", 5), ("on", 6)))
    found = compared(root, old, new).groups
    assert [str(one.examples[0].difference) for one in found] == ["value of keepalivetimeout: 5 -> 6"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RegexDefaultOptions +ICASE", "RegexDefaultOptions +icase +ICASE"),
        ("RegexDefaultOptions +DOTALL", ""),
        ("GracefulShutdownTimeout 0", ""),
        (
            "<VirtualHost *:8080>\nServerName a\nServerAlias b *.c d\n</VirtualHost>",
            "<VirtualHost *:8080>\nServerName a\nServerAlias d b *.c\n</VirtualHost>",
        ),
        ("SeeRequestTail Off", ""),
        ("User daemon\nUser daemon", "User daemon"),
        ("Group daemon\nGroup daemon", "Group daemon"),
        ('ChrootDir "@ROOT@/conf"\nChrootDir "@ROOT@/conf"', 'ChrootDir "@ROOT@/conf"'),
        ("GracefulShutdownTimeout 5", "GracefulShutdownTimeout 05"),
        ("Suexec Off", "Suexec off"),
        ("SeeRequestTail On", "SeeRequestTail on"),
        ("Listen 127.0.0.1:8081", "Listen 127.0.0.1:8081 http"),
    ],
)
def test_lines_that_set_what_is_set_already_are_the_same(root: Path, old: str, new: str) -> None:
    """Another spelling, a default of the manual, and a line that stands there twice."""
    result = verify(*(side(root, name, text, "2.4", "unixd") for name, text in (("a", old), ("b", new))))
    assert result.verdict is Verdict.SAME, reasons(result)


@pytest.mark.parametrize(
    "line", ["FileETag INode MTime Size", "Options All", "Timeout 300", "AllowOverride All"]
)
def test_the_default_of_each_version_counts(root: Path, line: str) -> None:
    """What 2.2 does without the line, 2.4 does with it."""
    text = f"<Directory />\n{line}\n</Directory>" if line.startswith("AllowOverride") else line
    kept = compared(root, "", text, ("2.2", "2.4"))
    assert not [group for group in kept.groups if "value of" in str(group.examples[0].difference)]
    assert not [one for one in reasons(kept) if line.lower() in one.lower()]
    lost = compared(root, text, "", ("2.2", "2.4"))
    assert lost.verdict in (Verdict.DIFFERENT, Verdict.NOT_DECIDED)


def test_a_pattern_of_a_section_without_an_equal_is_named(root: Path) -> None:
    old = '<LocationMatch "^/[a-z]{1,40}/x">\nSetEnv a b\n</LocationMatch>'
    result = compared(root, old, old.replace("40", "39"))
    assert result.verdict is Verdict.NOT_DECIDED
    assert [one for one in reasons(result) if "its pattern has no equal on the other side" in one]


@pytest.mark.parametrize(
    ("name", "lines", "is_named"),
    [
        ("x.html", "Require all denied", False),
        ("y.html", "Require all denied", True),
        ("x.html", "Require all denied\nSetEnv a b", True),
    ],
)
def test_a_condition_on_the_path_is_named_without_files_of_its_name(
    root: Path, name: str, lines: str, is_named: bool
) -> None:
    """The chains of sections decide about access alone, and have requests for the names of both sides."""
    condition = f"%{{REQUEST_FILENAME}} =~ m#^{root}/htdocs/(?:[^/]*/)*([^/]*)$# && $1 == 'x.html'"
    old = f'<Directory "@ROOT@/htdocs">\n<Files {name}>\n{lines}\n</Files>\n</Directory>'
    result = compared(root, old, f'<If "{condition}">\n{lines}\n</If>')
    named = [one for one in reasons(result) if "<if " in one and "its pattern has no equal" in one]
    assert bool(named) is is_named


def test_a_moved_requirement_is_a_differing_line(root: Path) -> None:
    """The container of a line counts, though the lines are the same."""
    text = "<Location /private>\n<RequireAny>\nRequire ip 10.0.0.1\n{}</RequireAny>\n{}</Location>"
    line = "Require ip 10.0.0.2\n"
    result = compared(root, text.format(line, ""), text.format("", line))
    assert result.verdict is Verdict.SAME  # both are alternatives, which the exact comparison shows


def test_a_file_below_both_roots_counts_by_its_content(tmp_path: Path) -> None:
    for name in ("old", "new"):
        make_root(tmp_path / name, {"conf/types": f"text/x-{name} zzz\n"})
    sides = [side(tmp_path / name, "httpd", "TypesConfig conf/types", "2.4") for name in ("old", "new")]
    assert verify(*sides).verdict is not Verdict.SAME


def test_each_directive_has_one_way_of_decision() -> None:
    from whimbrel.verify.config_lines import ConfigLine, LineScope

    scope = LineScope("server", "", "", 0)

    def how(name: str, args: str = "") -> DecidedBy:
        return decided_by(ConfigLine(name, args, "", 1, scope))

    assert how("require", "all denied") is DecidedBy.EXACT
    assert how("sslverifyclient", "none") is DecidedBy.VALUE
    assert how("customlog", "a b") is DecidedBy.VALUE
    assert how("pidfile", "x") is DecidedBy.NOTHING
    assert how("alias", "/a /b") is DecidedBy.REQUESTS
    assert how("alias", "/a /%{HTTP:x}") is DecidedBy.UNKNOWN
    assert how("rewriterule", "a b") is DecidedBy.UNKNOWN
    assert how("neverheardof") is DecidedBy.UNKNOWN


@pytest.mark.parametrize(("module", "verdict"), [("unique_id", Verdict.NOT_DECIDED), ("asis", Verdict.SAME)])
def test_a_module_that_acts_by_itself_is_named(root: Path, module: str, verdict: Verdict) -> None:
    result = compared(root, "", f"LoadModule {module}_module modules/mod_{module}.so")
    assert result.verdict is verdict
    assert all(f"{module}_module is loaded on this side alone" in one for one in reasons(result))


MANY = "".join(f"<Location /p{n}>\n%s\n</Location>\n" for n in range(8))
VIEWED = '<Directory "@ROOT@/htdocs">\nOptions +MultiViews\n</Directory>\nAddLanguage en .en\n'


@pytest.mark.parametrize(
    ("seconds", "limit", "reason"),
    [
        (0.0, None, "not asked: the time ended"),
        (30.0, 1, "not asked: the number of requests ended"),
    ],
)
def test_a_line_that_was_not_asked_for_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, limit: int | None, reason: str
) -> None:
    """That no request reaches a line is not known where the requests ended before."""
    make_root(tmp_path)
    monkeypatch.setattr("whimbrel.verify.verify.MAX_SECONDS", seconds)
    both = "<RequireAll>\nRequire ip 10.0.0.1\nRequire all granted\n</RequireAll>"
    texts = [MANY.replace("%s", lines) for lines in ("Require ip 10.0.0.1", both)]
    sides = [side(tmp_path, name, text, "2.4") for name, text in zip(("old", "new"), texts, strict=True)]
    found = reasons(verify(sides[0], sides[1], limit=limit))
    assert any(one.endswith(f"Require ip 10.0.0.1: {reason}") for one in found), found
    assert not any("reaches it" in one for one in found)


def test_changed_lines_are_asked_for_before_documents(tmp_path: Path) -> None:
    """A tree with many documents in many languages does not use up the requests."""
    files = {f"htdocs/docs/d{n}/page{m}.html.en": "x\n" for n in range(20) for m in range(4)}
    make_root(tmp_path, files)
    texts = [
        VIEWED + f"<Location /status>\n{line}\n</Location>\n"
        for line in ("Require all denied", "Require ip 10.0.0.1")
    ]
    sides = [side(tmp_path, name, text, "2.4") for name, text in zip(("old", "new"), texts, strict=True)]
    result = verify(sides[0], sides[1], limit=12)
    assert not result.not_decided
    assert [group.kind for group in result.groups] == ["access"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Header set X-A 1", "Header set X-A 2"),
        ("Options Indexes FollowSymLinks", "Options Indexes FollowSymLinks MultiViews"),
        ("AddLanguage de .de\nAddLanguage de .ger", "AddLanguage de .ger .de\nAddLanguage fr .fra"),
    ],
)
def test_reasons_do_not_depend_on_the_order_of_the_lines(
    root: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    found = reasons(compared(root, old, new))
    finish = Coverage.finish

    def backwards(self: Coverage, groups: list[DifferenceGroup], unreached: str) -> object:
        self.states = dict(reversed(self.states.items()))
        return finish(self, groups, unreached)

    monkeypatch.setattr(Coverage, "finish", backwards)
    assert sorted(reasons(compared(root, old, new))) == sorted(found)


def test_what_is_forgotten_is_released(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plans of a host, of which ten thousand take a gigabyte."""
    gc.freeze()  # what earlier tests keep is not looked through
    monkeypatch.setattr(gc, "freeze", lambda: None)
    sides = [side(root, name, f"Header set X-A {name}", name) for name in ("2.2", "2.4")]
    comparison = Comparison(*sides, VerifyResult(("old", "new")), 1)
    comparison.cover_lines()
    probe = Probe("/", host="localhost")
    comparison.compare_probe(probe)
    assert _plans_of(sides) and comparison._coverage is not None
    values = comparison._coverage.values
    assert values._forms and values._origins
    comparison._forget()
    assert (values._forms, values._origins, values._by_pair) == ({}, {}, {})
    assert _plans_of(sides) == []


def _plans_of(sides: list[Side]) -> list[str]:
    """Return the types of what holds each plan of the sides that lives."""
    gc.collect()
    roots = [one.loaded for one in sides]
    return [
        type(one).__name__
        for one in gc.get_objects()
        if type(one) is ProbePlan and any(one.cache.configuration is root for root in roots)
    ]
