"""Files without their server after an upgrade: each is loaded under 2.4, and what 2.4 refuses is a finding.

The server around a file is empty and has every module, so a refusal is that of the line itself. What this
machine lacks, and directives that no module of httpd has, say nothing about the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.builds import ALL
from whimbrel.base.dialect import V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import catalogue
from whimbrel.config.htaccess import Override, parse
from whimbrel.config.options import LoadOptions
from whimbrel.directives.spec import Context
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import Role, SourceFile
from whimbrel.verify.load_errors import refusal
from whimbrel.verify.loading import load_side
from whimbrel.verify.side import Side

MAX_FILES: Final = 1000
"""Files that are loaded; each takes about 50 ms."""
_MAX_LINES: Final = 10
"""Lines of a file that are left out, one after another."""
_MAIN: Final = "/whimbrel-empty-main-file"
_ELSEWHERE: Final = re.compile(rb"(?im)^[ \t]*(?=(?:LoadModule|LoadFile|Include|IncludeOptional)[ \t])")
_UNKNOWN: Final = re.compile(r"Invalid command '<?([^'>]*)>?'")
_PROVIDER: Final = re.compile(r"Unknown DAV provider|is not defined")
_AUTHZ_PROVIDER: Final = "Unknown Authz provider"
"""A module of a third party may have it: a file with directives of third parties is not judged."""
_EVERYTHING: Final = Override(int(Context.OR_ALL), -1)

_MPM_SOURCES: Final = frozenset({"prefork.c", "worker.c", "event.c", "mpm_winnt.c"})

Refusal = tuple[str, SourceLocation]
"""httpd's message, and the line that it is about."""


def lone_load_errors(result: UpgradeResult) -> list[Finding]:
    """Return a finding for each line of a file without a server that 2.4 refuses after the upgrade."""
    files = [
        file
        for file in result.tree.files.values()
        if not file.foreign and not file.is_template and file.role in (Role.HTACCESS, Role.FRAGMENT)
    ]
    reported = {(f.place.path, f.place.line) for f in result.needs_review if f.risk is Risk.BREAKS}
    found = (finding for file in files[:MAX_FILES] for finding in _refused(result, file))
    return [finding for finding in found if (finding.place.path, finding.place.line) not in reported]


def _refused(result: UpgradeResult, file: SourceFile) -> Iterator[Finding]:
    data = _ELSEWHERE.sub(b"#", result.files.get(file.path, file.document.bytes))
    load = _htaccess_loader() if file.role is Role.HTACCESS else _load_fragment
    has_foreign_lines = False
    for _ in range(_MAX_LINES):
        refused = load(file.path, data)
        if refused is None:
            return
        text, place = refused
        lines = data.split(b"\n")
        if place.path != file.path or not 0 < place.line <= len(lines):
            return
        line = lines[place.line - 1]
        unknown = _UNKNOWN.search(text)
        is_elsewhere = unknown is not None and _needs_other_module(unknown[1])
        has_foreign_lines |= is_elsewhere
        is_unknown = _PROVIDER.search(text) or (has_foreign_lines and _AUTHZ_PROVIDER in text)
        if not (is_elsewhere or is_unknown or b"${" in line):
            yield _finding(result, text, place, file.role)
        if unknown is not None and is_elsewhere:
            name = re.escape(to_bytes(unknown[1]))
            lines = re.sub(rb"(?im)^[ \t]*(?=(?:</?)?" + name + rb"\b)", b"#", data).split(b"\n")
        elif line.lstrip()[:1] != b"<":
            lines[place.line - 1] = b""
        if lines == data.split(b"\n"):
            return
        data = b"\n".join(lines)


def _finding(result: UpgradeResult, text: str, place: SourceLocation, role: Role) -> Finding:
    finding = refusal(result, text, place)
    if role is not Role.HTACCESS:
        return finding
    reason = text.removeprefix(f"{place.path}: ")
    message = f"2.4 answers 500 to every request for the directory of this file: {reason}"
    return replace(finding, message=message, advice="correct the line for 2.4, or remove it")


def _needs_other_module(name: str) -> bool:
    """Return True if no module of httpd has the directive, or another MPM than that of the empty server."""
    rows = [
        row
        for version in ("2.2", "2.4")
        for spelling in (name.lower(), f"<{name.lower()}")
        for row in catalogue(version).find(spelling)
    ]
    return all(row.source in _MPM_SOURCES for row in rows)


def _load(path: str, data: bytes) -> Side:
    options = LoadOptions(server_root="/", file=path, build=ALL, overlay={path: data})
    return load_side(options, V24, name="2.4", origins=False)


def _load_fragment(path: str, data: bytes) -> Refusal | None:
    """Return the refusal of a fragment that is the main file of a server."""
    errors = _load(path, data).errors
    return None if not errors or errors[0].place is None else (errors[0].text, errors[0].place)


def _htaccess_loader() -> Callable[[str, bytes], Refusal | None]:
    """Return the function that loads .htaccess files of one empty server."""
    loaded = _load(_MAIN, b"").loaded

    def load(path: str, data: bytes) -> Refusal | None:
        error = parse(loaded, loaded.main, path, data, _EVERYTHING).error
        return None if error is None or error.place is None else (str(error), error.place)

    return load
