"""Macros. Every expected text is recorded from 2.4.71 (@ is the server root)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.modules.core.mod_macro import substituted

F = '"@/conf/httpd.conf"'
DEFINED = f"macro 'm' (defined on line 2 of {F})"
ON_READ = "apache2: Syntax error on line {} of @/conf/httpd.conf: {}"
IN_MACRO = "AH00526: Syntax error on line {} of {}:\n{}"

CASES: list[tuple[str, str]] = [
    (
        "<Macro m $a>\nOptions $a\n</Macro>\nUse M foo\n",
        IN_MACRO.format(1, f"{DEFINED} used on line 5 of {F}", "Illegal option foo"),
    ),
    (
        '<Macro m $a>\nOptions "$a"\n</Macro>\nUse m "foo bar"\n',
        IN_MACRO.format(1, f"{DEFINED} used on line 5 of {F}", "Illegal option foo bar"),
    ),
    (
        "<Macro m>\n\n# c\n\nOptions Bogus\n</macro>\nUse m\n",
        IN_MACRO.format(3, f"{DEFINED} used on line 8 of {F}", "Illegal option Bogus"),
    ),
    (
        "<Macro m $a>\nSetEnv $a x\n</Macro>\nUse m x y\n",
        ON_READ.format(5, f"{DEFINED} used with 2 arguments instead of 1"),
    ),
    (
        "<Macro m>\nUse m\n</Macro>\nUse m\n",
        f"apache2: Syntax error on line 1 of {DEFINED} used on line 5 of {F}: recursive use of macro 'm' is "
        "invalid",
    ),
    ("<Macro m>\n</Macro>\nUse m\n", f"[macro:warn] AH02799: {DEFINED}: empty contents!\nSyntax OK"),
    (
        "<Macro m $a>\nKeepAlive On\n</Macro>\n",
        f"[macro:warn] AH02800: {DEFINED}: argument '$a' (#1) never used\nSyntax OK",
    ),
    (
        "<Macro m>\n<Directory />\n</Macro>\nUse m\nOptions None\n</Directory>\n",
        f"[macro:warn] AH02795: bad cumulated nesting (+1) in {DEFINED}\nSyntax OK",
    ),
    ("<Macro m /IgnoreBadNesting>\n<Directory />\n</Macro>\n", "Syntax OK"),
    ('MacroIgnoreEmptyArgs\n<Macro m $a>\nSetEnv a $a\n</Macro>\nUse m ""\n', "Syntax OK"),
    ("<Macro m", ON_READ.format(2, "<Macro> directive missing closing '>'")),
    ("<Macro >\n</Macro>\n", ON_READ.format(2, "<Macro macro definition: empty name")),
    ('<Macro "">\n</Macro>\n', ON_READ.format(2, "<Macro macro definition: name not found")),
    (
        "<Macro m>\n</Bogus>\n",
        ON_READ.format(2, DEFINED + "\\n\\tcontents error: expected token not found: </Macro>"),
    ),
    ("Use m\n", ON_READ.format(2, "no macro defined before Use")),
    ("<Macro m>\nSetEnv a b\n</Macro>\nUse n\n", ON_READ.format(5, "macro 'n' undefined")),
    ("<Macro m>\nSetEnv a b\n</Macro>\nUndefMacro m\nUse m\n", ON_READ.format(6, "macro 'm' undefined")),
    (
        "<Macro m $a $a>\nSetEnv $a b\n</Macro>\n",
        ON_READ.format(
            2, f"argument name conflict in {DEFINED}: argument '$a': #1 and #2, change argument names!"
        ),
    ),
]


@pytest.mark.parametrize(("conf", "text"), CASES)
def test_macros(tmp_path: Path, conf: str, text: str) -> None:
    assert Site(tmp_path, f"LoadModule macro_module m/mod_macro.so\n{conf}").check() == text


def test_nested_use_names_the_chain(tmp_path: Path) -> None:
    conf = "<Macro in $a>\nOptions $a\n</Macro>\n<Macro out $b>\nUse in $b\n</Macro>\nUse out foo\n"
    outer = f"macro 'out' (defined on line 5 of {F}) used on line 8 of {F}"
    assert Site(tmp_path, f"LoadModule macro_module m/mod_macro.so\n{conf}").check() == (
        IN_MACRO.format(
            1, f"macro 'in' (defined on line 2 of {F}) used on line 1 of \"{outer}\"", "Illegal option foo"
        )
    )


@pytest.mark.parametrize(
    ("line", "names", "values", "result"),
    [
        ("$a$ab", ["$a", "$ab"], ["x", "y"], "xy"),
        ("$a", ["$a", "$b"], ["$b", "z"], "$b"),
        ("no", ["$a"], ["x"], "no"),
        ("a@a@bc", ["@a", "@b"], ["x y", ""], 'a"x y"""c'),
        ("@a%a", ["@a", "%a"], ['q"\\', 'q"\\'], '"q\\"\\\\"q"\\'),
    ],
)
def test_substitution(line: str, names: list[str], values: list[str], result: str) -> None:
    """The longest name wins, values are not expanded again, and those of @ are quoted."""
    assert substituted(line, names, values) == result
