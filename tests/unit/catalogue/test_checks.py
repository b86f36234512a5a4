"""Argument rules compared with recorded responses, and numbers compared with C's."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.unit.catalogue.recorded_cases import VERSIONS, cases, rows

from whimbrel.base.errors import ConfigError
from whimbrel.catalogue import DirectiveEntry
from whimbrel.catalogue.checks import CheckContext, check, check_calls
from whimbrel.catalogue.checks.numbers import LONG_MAX, atoi, is_float, strtol, timeout
from whimbrel.directives.shapes import shape
from whimbrel.directives.spec import Args

BEYOND = re.compile(
    r"Could not parse|No such filter|Undeclared smart filter|SSLRequire: |sed expression|Name or "
    r"service|macro|Empty passwords|UserExpr"
)
"""Messages that need more than a line's arguments: expressions, declared filters, name service, programs,
macros.
"""


def files_with_rules() -> set[str]:
    """Return the source files of httpd that have a file of rules."""
    folder = Path(__file__).parents[3] / "src" / "whimbrel" / "catalogue" / "checks"
    return {f"{p.stem}.c" for p in folder.glob("*.py") if p.stem.startswith("mod_") or p.stem == "util_ldap"}


def server_root(folder: Path) -> Path:
    """Write a server root with the files that the recorded cases name."""
    for name in ("conf", "htdocs", "logs", "run"):
        (folder / name).mkdir()
    (folder / "conf/mime.types").write_text("text/html html\n")
    return folder


def answer(row: DirectiveEntry, text: str, around: CheckContext) -> str | None:
    """Return our message about the arguments *text*."""
    try:
        calls = shape(
            Args[row.args], text, name=row.name, help=row.help, iterate_needs_one=around.version == "2.4"
        )
    except ConfigError as error:
        return error.reason.replace("\n", "\\n").strip()
    return check_calls(row.source, row.name, calls, around)


def arguments(case: dict[str, Any], name: str) -> str | None:
    """Return the text after the name of the directive under test; None if it is not on one line."""
    found = re.search(rf"(?im)^[ \t]*{re.escape(name)}(?!\w)[ \t]*(.*)$", case["conf"])
    return None if found is None or found[1].strip().endswith("\\") else found[1].strip()


def surroundings(case: dict[str, Any], version: str, root: Path) -> CheckContext:
    """Return the context of the directive of a recorded case."""
    loaded = frozenset(f"{name}_module" for name in case["modules"][version])
    return CheckContext(
        version,
        str(root),
        loaded,
        is_per_directory="<" in case["conf"],
        in_location="<Location" in case["conf"],
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_arguments(version: str, tmp_path: Path) -> None:
    """At least 99 of 100 recorded cases of these modules get httpd's verdict and message."""
    root, ours, count = server_root(tmp_path), files_with_rules(), Counter[str]()
    wrong = []
    for case in cases("config-args", version):
        name = re.match(r"<?\w+", case["title"])
        found = rows(name[0], case, version) if name else []
        if (
            not name
            or not found
            or found[0].source not in ours
            or re.search("Invalid command|not allowed|expr", case["text"])
        ):
            continue
        text = arguments(case, name[0])
        if text is None or BEYOND.search(case["text"]):
            continue
        text = text.replace("@SERVERROOT@", str(root)).replace("@DOCROOT@", f"{root}/htdocs")
        said = answer(found[0], text, surroundings(case, version, root))
        said = said and said.replace(f"{root}/htdocs", "@DOCROOT@").replace(str(root), "@SERVERROOT@").strip()
        told = (
            None if case["text"].endswith("Syntax OK") else case["text"].split("httpd.conf:", 1)[-1].strip()
        )
        count["refused" if told else "accepted"] += 1
        if said != told:
            wrong.append((case["id"], case["title"], said, told))
    assert min(count.values()) > 80
    assert len(wrong) <= 7, wrong  # most are errors of expressions, which modules find


def test_modules_without_rules_say_nothing() -> None:
    assert check("mod_nosuch.c", "Nosuch", ["x"], CheckContext()) is None
    assert check("mod_deflate.c", "Nosuch", ["x"], CheckContext()) is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12", 12),
        ("12abc", 12),
        ("x", 0),
        ("-5", -5),
        ("+7", 7),
        ("2147483648", -2147483648),
        ("4294967296", 0),
        ("99999999999999999999", -1),
        ("", 0),
        (" 3", 3),
    ],
)
def test_atoi(word: str, value: int) -> None:
    assert atoi(word) == value


def test_strtol() -> None:
    assert strtol("12k") == (12, "k", False)
    assert strtol("x") == (0, "x", False)
    assert strtol("99999999999999999999") == (LONG_MAX, "", True)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("20", 20_000),
        ("500ms", 500),
        ("2min", 120_000),
        ("1h", 3_600_000),
        ("5hour", 18_000_000),
        ("5MIN", None),
        ("5m", None),
        ("7k", None),
        ("-1", None),
        ("x", None),
        ("", None),
        ("ms", 0),
        ("hour", 0),
        ("mx", None),
        ("-", None),
        ("99999999999999999999", None),
    ],
)
def test_times(word: str, value: int | None) -> None:
    assert timeout(word, "2.4") == value


def test_negative_times_pass_in_the_old_version() -> None:
    assert timeout("-999999", "2.2") == -999_999_000


def test_floats() -> None:
    assert all(is_float(word) for word in ("0.5", ".5", "-0.1", "2.0x", "1e2", "nan", "inf"))
    assert not any(is_float(word) for word in ("x", "-", "", "x y"))


@pytest.mark.parametrize(
    ("source", "name", "words", "said"),
    [
        (
            "mod_lua.c",
            "LuaScope",
            "ONCE",
            "Invalid value for LuaScope, 'ONCE', acceptable values are: 'once', 'request', 'conn', "
            "'thread', 'server'",
        ),
        ("mod_lua.c", "LuaScope", "thread x y", None),
        (
            "mod_proxy_fcgi.c",
            "ProxyFCGISetEnvIf",
            "true !FOO 1",
            'Third argument ("1") is not allowed when using ProxyFCGISetEnvIf\'s unset mode (!FOO)',
        ),
        ("mod_proxy_fcgi.c", "ProxyFCGISetEnvIf", "true !FOO", None),
    ],
)
def test_what_the_server_says(source: str, name: str, words: str, said: str | None) -> None:
    """The messages of apache2 -t 2.4.71, under the server root /r."""
    assert check(source, name, words.split(), CheckContext(root="/r")) == said


@pytest.mark.parametrize(
    ("source", "name", "words", "said"),
    [
        ("mod_heartbeat.c", "HeartbeatAddress", [":80"], "HeartbeatAddress: Unable to parse address."),
        ("mod_proxy_hcheck.c", "ProxyHCExpr", ["ok {true} x y"], "error: extra parameter(s)"),
        ("mod_proxy_hcheck.c", "ProxyHCExpr", [""], "Missing expression name for ProxyHCExpr"),
    ],
)
def test_lines_that_rules_take_whole(source: str, name: str, words: list[str], said: str | None) -> None:
    """The messages of apache2 -t 2.4.71."""
    assert check(source, name, words, CheckContext()) == said
