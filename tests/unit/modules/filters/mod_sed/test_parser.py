"""The parser of sed scripts: messages and limits, as apache2 has them."""

from __future__ import annotations

import pytest

from whimbrel.modules.filters.mod_sed.parser import Parser, ScriptError

NL = "\n"
WRONG = {
    "s/a": "Illegal or missing delimiter: s/a",
    "s/a/b": "ending delimiter missing on substitution: s/a/b",
    "s/a/b/pg": "command garbled: s/a/b/pg",
    "s/a/b/0": "command garbled: s/a/b/0",
    "s/a/b/513": "suffix too large: s/a/b/513",
    "s/a/b/2g": "command garbled: s/a/b/2g",
    "s//b/": "first RE may not be null",
    r"/\(a\)/s//[\1]/": r"``\digit'' out of range: /\(a\)/s//[\1]/",
    r"s/\(a\)/\2/": r"``\digit'' out of range: s/\(a\)/\2/",
    r"s/\(a/b/": r"\( \) imbalance: s/\(a/b/",
    r"s/a\)/b/": r"\( \) imbalance: s/a\)/b/",
    "s/[a/b/": "[ ] imbalance: s/[a/b/",
    "/[a/p": "unrecognized command: /[a/p",
    r"/a\{x\}/p": r"command garbled: /a\{x\}/p",
    r"/a\{3,2\}/p": r"command garbled: /a\{3,2\}/p",
    r"/a\{255\}/p": r"command garbled: /a\{255\}/p",
    r"/\(a\)\2/p": r"unrecognized command: /\(a\)\2/p",
    "//p": "first RE may not be null",
    "1,p": "command garbled: 1,p",
    "1,2=": "only one address allowed: 1,2=",
    "1,2q": "only one address allowed: 1,2q",
    "1,2r f": "only one address allowed: 1,2r f",
    "a": "command garbled: a",
    "a x": "command garbled: a x",
    ":": "duplicate labels: :",
    ":abcdefgh": "label too long: :abcdefgh",
    "1:abc": "no addresses allowed: 1:abc",
    "b abcdefgh": "label too long: b abcdefgh",
    "}": "too many }'s",
    "{p}": "command garbled: {p}",
    "1}": "no addresses allowed: 1}",
    "z": "unrecognized command: z",
    "1! p": "unrecognized command: 1! p",
    "y/abc/xy/": "ending delimiter missing on string: y/abc/xy/",
    "y/ab/xyz/": "transform strings not the same size: y/ab/xyz/",
    "y/abc": "ending delimiter missing on string: y/abc",
    r"y/a\/b/xyz/": r"transform strings not the same size: y/a\/b/xyz/",
    "w": "Space missing before filename: w",
    "s/a/b/wx": "Space missing before filename: s/a/b/wx",
    "r": "command garbled: r",
    "rfile": "command garbled: rfile",
    "p p": "command garbled: p p",
    "p ;p": "command garbled: p ;p",
    "p # comment": "command garbled: p # comment",
    "$$p": "unrecognized command: $$p",
    "/x/,+2p": "command garbled: /x/,+2p",
    "1~2p": "unrecognized command: 1~2p",
    "l 5": "command garbled: l 5",
    "q5": "command garbled: q5",
    "s/a/b/ p": "command garbled: s/a/b/ p",
    "s/a/b/I": "command garbled: s/a/b/I",
    "p;s/a/": "ending delimiter missing on substitution: p;s/a/",
    ";".join(["1p"] * 256): "command garbled: " + ";".join(["1p"] * 256),
}
RIGHT = [
    r"s/\(a\)/x/;s//\1/",
    "s/a/b/gp",
    "s/a/b/g2",
    "s/a/b/512",
    r"/a\{254\}/p",
    "1,//p",
    "1;3p",
    f"a\\{NL}text",
    ":abcdefg",
    "ba;p",
    "{",
    "{p;}x",
    "1!!p",
    r"y/a\nb/xyz/",
    "#n",
    "p;# comment",
    r"\,a\,b,p",
    "p\\",
    "0,5p",
    "n;N;d;D;g;G;h;H;x;P;p;l;q;=",
    "s/*a/b/",
    "s/a**/b/",
    "s/[]a]/b/",
    "sxaxbx",
    "{" * 22 + "p",
    "s/a/" + "x" * 2000 + "/",
    ";".join(["1p"] * 255),
]


@pytest.mark.parametrize("script", WRONG)
def test_a_wrong_script_is_refused_with_the_message_of_httpd(script: str) -> None:
    with pytest.raises(ScriptError) as caught:
        Parser().add(script)
    assert str(caught.value) == WRONG[script]


@pytest.mark.parametrize("script", RIGHT)
def test_a_right_script_is_taken(script: str) -> None:
    parser = Parser()
    parser.add(script)
    assert parser.script() is not None


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        (["s/" + "x" * 400 + "/" + "y" * 400 + "/"] * 9, 8),
        (["y/a/b/"] * 40, 39),
        (["/[a]/p"] * 600, 526),
        ([f":l{n}" for n in range(60)], 48),
        ([f"w /t/{n}" for n in range(12)], 11),
        ([":a", ":a"], 1),
    ],
)
def test_a_script_has_the_bounds_of_httpd(lines: list[str], taken: int) -> None:
    parser, count = Parser(), 0
    with pytest.raises(ScriptError):
        for line in lines:
            parser.add(line)
            count += 1
    assert count == taken


@pytest.mark.parametrize(
    ("script", "error"), [("{", "too many {'s"), ("b x", "undefined label: x"), (":x", "")]
)
def test_an_unfinished_script_fails_when_it_runs(script: str, error: str) -> None:
    parser = Parser()
    parser.add(script)
    assert parser.script().error == error
