"""The catalogue compared with the tables of the installed program, and with recorded contexts and
arguments.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.catalogue.program_tables import Table, tables
from tests.unit.catalogue.recorded_cases import CASES, VERSIONS, cases, refused_here, rows

from whimbrel.base.errors import ConfigError
from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.catalogue.third_party import product_of
from whimbrel.directives.shapes import shape
from whimbrel.directives.spec import Args, Context
from whimbrel.modules import ALL

APACHE, MODULES = Path("/usr/sbin/apache2"), Path("/usr/lib/apache2/modules")


@pytest.mark.parametrize("version", VERSIONS)
def test_shapes_and_bits_are_those_of_the_specification(version: str) -> None:
    everything = sum({bit for bit in vars(Context).values() if isinstance(bit, int) and bit.bit_count() == 1})
    for row in catalogue(version):
        assert row.args in Args.__members__
        assert row.where and not row.where & ~everything
    assert {name: getattr(Context, name) for name in ("OR_ALL", "OR_LIMIT", "RSRC_CONF", "PROXY_CONF")} == {
        "OR_ALL": 31,
        "OR_LIMIT": 1,
        "RSRC_CONF": 128,
        "PROXY_CONF": 2048,
    }


ELSEWHERE = {"mod_systemd"}  # modules of httpd 2.4 that Debian does not build, as the manual describes them


@pytest.fixture(scope="module")
def installed() -> list[Table]:
    if not (APACHE.exists() and MODULES.is_dir()):
        pytest.skip("Debian's apache2 is not installed")
    return [
        table
        for path in (APACHE, *sorted(MODULES.glob("*.so")))
        for table in tables(path)
        if product_of(table.source) is None
    ]


def test_rows_are_those_of_the_installed_program(installed: list[Table]) -> None:
    assert len(installed) > 100
    for table in installed:
        ours = [(r.name, r.where, r.args, r.help) for r in catalogue("2.4").module_rows(table.source)]
        assert ours == [(r.name, r.where, r.args, r.help) for r in table.rows], table.source


@pytest.mark.parametrize("name", ["mod_xsendfile", "mod_rpaf", "mod_evasive20"])
def test_rows_of_built_in_third_party_modules(name: str) -> None:
    """Debian's file has the rows; other releases have more."""
    path = MODULES / f"{name}.so"
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    (table,) = tables(path)
    module = ALL[name]
    assert (module.name, module.source) == (table.identifier, table.source)
    rows = catalogue("2.4").module_rows(module.source)
    ours = {(row.name, row.where, row.args, row.help) for row in rows}
    assert {(row.name, row.where, row.args, row.help) for row in table.rows} <= ours


def test_modules_are_those_of_the_installed_program(installed: list[Table]) -> None:
    ours = [m for m in catalogue("2.4").modules if m.file not in ELSEWHERE]
    assert {(m.identifier, m.source, m.has_dir_config) for m in ours} == {
        (t.identifier, t.source, t.folders) for t in installed
    }
    files = {p.stem for p in MODULES.glob("*.so") if product_of(p.name) is None}
    assert {m.file for m in ours if not m.is_static} == files


@pytest.mark.parametrize("version", VERSIONS)
def test_compiled_in_modules(version: str) -> None:
    texts = [
        c["text"]
        for c in cases("config-dumps", version)
        if c["args"] == ["-M"] and "Loaded Modules:" in c["text"]
    ]
    assert texts
    ours = [m.identifier for m in catalogue(version).modules if m.is_static]
    assert {tuple(re.findall(r"^ (\w+) \(static\)$", text, re.MULTILINE)) for text in texts} == {tuple(ours)}


@pytest.mark.parametrize("version", VERSIONS)
def test_undefined_symbols_of_modules_that_need_another(version: str) -> None:
    alone = [
        c["text"]
        for c in cases("config-missing", version)
        if "alone, without the modules it needs" in c["title"]
    ]
    told = [m for text in alone if (m := re.search(r"/(mod_\w+)\.so: undefined symbol: (\w+)$", text))]
    assert told
    for match in told:
        module = catalogue(version).module_of_file(match[1])
        assert module and module.symbol == match[2] and catalogue(version).module(module.needs)


@pytest.mark.parametrize("version", VERSIONS)
def test_contexts(version: str) -> None:
    """Every recorded "X not allowed here" follows from the bits, and so does its absence."""
    seen: Counter[str] = Counter()
    for case in (*cases("config-ctx", version), *cases("config-ctx2", version)):
        match = re.match(r"(<?\w+)>? (in .*)$", case["title"])
        if not match or "Invalid command" in case["text"]:
            continue
        name, place = match[1], match[2]
        told = re.search(r"^(\S+) not allowed (?:here|in )", case["text"], re.MULTILINE)
        found = rows(name, case, version)
        if (
            version == "2.4"
            and place == "in <Limit> (server)"
            and not any(r.where & Context.EXEC_ON_READ for r in found)
        ):
            assert told and told[1] == "<Limit", name  # it precedes the directive, known or not
        elif told and told[1].lower() == name.lower():
            assert told[1] in {r.name for r in found} and any(refused_here(r, place) for r in found), case[
                "title"
            ]
        else:
            assert not all(refused_here(r, place) for r in found), case["title"]
        seen[place] += 1
    assert len(seen) > 14 and sum(seen.values()) > 2500


CLASSES = {
    "AuthConfig": Context.OR_AUTHCFG,
    "FileInfo": Context.OR_FILEINFO,
    "Indexes": Context.OR_INDEXES,
    "Limit": Context.OR_LIMIT,
    "Options": Context.OR_OPTIONS,
}
"""The arguments of AllowOverride; a recorded case names a directory after its AllowOverride, the default is
All.
"""


def htaccess_files(case: dict[str, Any]) -> Iterator[tuple[str, Context, str]]:
    """Yield each .htaccess file of a recorded case: path below the document root, permitted classes, first
    directive.
    """
    for name, content in case["files"].items():
        match = re.match(r"htdocs/((?:(\w+)/)?\w+/\.htaccess)$", name)
        first = re.match(r"\s*(<?\w+)", content if isinstance(content, str) else content.get("text", ""))
        if match and first and (match[2] is None or match[2] in CLASSES):
            yield match[1], CLASSES.get(match[2], Context.OR_ALL), first[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_htaccess_classes(version: str) -> None:
    """Every recorded "X not allowed here" of a .htaccess file follows from the bits, and so does its
    absence.
    """
    seen: Counter[bool] = Counter()
    with lzma.open(CASES / "config-htaccess.jsonl.xz", "rt", encoding="utf-8") as file:
        found = [
            c
            for c in map(json.loads, file)
            if re.match(r"\.htaccess (with AllowOverride All|under one override class)", c["title"])
        ]
    for case in (c for c in found if version in c["answers"] and c["answers"][version]["started"]):
        log = case["answers"][version]["error_log"]
        log = log if isinstance(log, str) else "\n".join(log)
        for path, allowed, name in htaccess_files(case):
            known = rows(name, case, version)
            if known and f"/{path}: Invalid command" not in log:
                told = (
                    re.search(rf"/{re.escape(path)}: {re.escape(name)} not allowed here", log, re.IGNORECASE)
                    is not None
                )
                assert told == (not any(row.where & allowed for row in known)), (case["id"], path)
                seen[told] += 1
    assert min(seen.values()) > 200


def count_error(row: DirectiveEntry, text: str, version: str) -> str | None:
    """Return the message about the number of arguments in *text*, or None."""
    try:
        shape(Args[row.args], text, name=row.name, help=row.help, iterate_needs_one=version == "2.4")
    except ConfigError as error:
        return error.reason
    return None


COUNT = re.compile(
    r"(takes (no|one|two|three|1-2).*argument|requires at least (one|two) argument|must be On or Off$)"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_argument_counts(version: str) -> None:
    """Every recorded complaint about the number of arguments follows from the shape, and so does its
    absence.
    """
    seen: Counter[bool] = Counter()
    for case in cases("config-args", version):
        lines = case["conf"].strip("\n").split("\n")
        name = re.match(r"\w+", case["title"])
        if (
            name is None
            or len(lines) != 1
            or not lines[0].lower().startswith(name[0].lower() + " ")
            or "${" in lines[0]
            or lines[0].endswith("\\")
        ):
            continue
        found = rows(name[0], case, version)
        if not found or re.search("Invalid command|not allowed (here|in)", case["text"]):
            continue
        told = case["text"].rsplit("Syntax error on line 1 of @SERVERROOT@/conf/httpd.conf:", 1)[-1].strip()
        message = count_error(found[0], lines[0][len(name[0]) :].strip(), version)
        if message is None:  # mod_filter's own message has the same text, without the help text
            complains = told.startswith(f"{found[0].name} ") and COUNT.match(told[len(found[0].name) + 1 :])
            assert found[0].name == "AddOutputFilterByType" or not complains, (case["id"], told)
        else:
            assert told == message.replace("\n", "\\n").strip(), case["id"]
        seen[message is None] += 1
    assert min(seen.values()) > 400, seen


def test_no_other_version() -> None:
    with pytest.raises(ValueError, match="2.0"):
        catalogue("2.0")
