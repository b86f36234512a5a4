"""Loading the texts of a configuration tree under one version, and the lines that it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from whimbrel.base.dialect import V24, Dialect
from whimbrel.base.errors import ConfigError, SourceLocation, StartError, UnknownDirective
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.programs import without_programs
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import OPT_ALL, OPT_MULTI, OPT_SYM_OWNER
from whimbrel.config.htaccess import ALL, Override, parse
from whimbrel.config.load import DeepRecursion, complete, read_as_its_build
from whimbrel.config.messages import format_error
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL as MODULES
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, SourceFile
from whimbrel.upgrade.source.text_faults import FaultKind

MAX_LINES: Final = 10
"""The maximum number of lines of a text that are reported: each needs the text to be loaded again."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """One reason why a version refuses a text; *name* is that of an unknown directive, else ""."""

    text: str
    place: SourceLocation | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class LoadedTexts:
    """The files of *tree*, with other bytes for those in *changed*, as *dialect* loads them."""

    tree: ConfigTree
    changed: Mapping[str, bytes]
    dialect: Dialect

    def data(self, file: SourceFile) -> bytes:
        return self.changed.get(file.path, file.document.bytes)


def is_of_this_machine(texts: LoadedTexts, problem: RefusedLine) -> bool:
    """Return True if the line has a variable without a value here, or names what has no behaviour here: both
    are items of the scope."""
    if "no behaviour here" in problem.text:
        return True
    file = texts.tree.files.get(problem.place.path) if problem.place is not None else None
    if problem.place is None or file is None:
        return False
    lines = texts.data(file).split(b"\n")
    return 0 < problem.place.line <= len(lines) and b"${" in lines[problem.place.line - 1]


def is_of_damaged_text(tree: ConfigTree, path: str) -> bool:
    """Return True if the file is a template, or has a fault that is reported by itself."""
    file = tree.files.get(path)
    if file is None:
        return False
    return file.is_template or any(fault.kind is not FaultKind.MISSPELLED for fault in file.faults)


def load(options: LoadOptions, dialect: Dialect) -> tuple[Configuration | None, RefusedLine | None]:
    """Load a configuration; what this machine lacks is left out."""
    options = replace(options, is_elsewhere=True, check_only=True)
    try:
        with without_programs():
            return complete(read_as_its_build(options, MODULES, dialect)), None
    except ConfigError as problem:
        return None, _problem(problem, dialect)
    except StartError as problem:
        return None, RefusedLine(problem.lines[0], None)


def _problem(problem: ConfigError, dialect: Dialect) -> RefusedLine:
    name = problem.reason.split("'")[1] if isinstance(problem, UnknownDirective) else ""
    return RefusedLine(format_error(problem, dialect, is_short=True).splitlines()[-1], problem.place, name)


def parse_htaccess(
    configuration: Configuration, path: str, data: bytes, bits: int, dialect: Dialect
) -> RefusedLine | None:
    """Return the first line of a .htaccess file that is refused under an AllowOverride of *bits* with every
    option; None if the file is read."""
    override = Override(bits, OPT_ALL | OPT_MULTI | OPT_SYM_OWNER)
    with DeepRecursion(), without_programs():
        refusal = parse(configuration, configuration.main, path, data, override).problem
    return None if refusal is None else replace(_problem(refusal, dialect), text=refusal.reason)


def htaccess_problems(
    texts: LoadedTexts, configuration: Configuration, file: SourceFile
) -> Iterator[RefusedLine]:
    """Yield the problems of a .htaccess file that may have every directive: what the real AllowOverride
    forbids is a question of the server."""
    overlay = {file.path: texts.data(file)}
    for _ in range(MAX_LINES):
        problem = parse_htaccess(configuration, file.path, overlay[file.path], ALL, texts.dialect)
        if problem is None:
            return
        yield problem
        rest = without(texts, problem, overlay)
        if rest is None:
            return
        overlay[file.path] = rest


def old_htaccess_refusals(
    tree: ConfigTree, changed: Mapping[str, bytes], configuration: Configuration
) -> Iterator[tuple[str, int]]:
    """Yield the .htaccess files among *changed* whose old text is refused by *configuration*, the server of
    all new texts as 2.4 loads it, each with the number of the first line.
    """
    lines: dict[bytes, int] = {}  # by text, 0 for one that is read: hosts repeat their files
    for path in changed:
        file = tree.files[path]
        if file.role is not Role.HTACCESS:
            continue
        data = file.document.bytes
        if data not in lines:
            problem = parse_htaccess(configuration, path, data, ALL, V24)
            place = None if problem is None else problem.place
            lines[data] = 0 if place is None else place.line
        if lines[data]:
            yield path, lines[data]


def without(texts: LoadedTexts, problem: RefusedLine, overlay: Mapping[str, bytes]) -> bytes | None:
    """Return the file of *problem* with its line empty, or the section that begins there; of an unknown name,
    with all its lines empty. None for an unknown file."""
    place = problem.place
    file = texts.tree.files.get(place.path) if place is not None else None
    if place is None or file is None:
        return None
    lines = overlay.get(place.path, file.document.bytes).split(b"\n")
    if not 0 < place.line <= len(lines) or not lines[place.line - 1].strip():
        return None
    starts = [place.line - 1]
    if problem.name:
        name = to_bytes(problem.name).lower()
        starts += [n for n, line in enumerate(lines) if line.split()[:1] and line.split()[0].lower() == name]
    for start in starts:
        for number in range(start, _end_of(lines, start)):
            lines[number] = b""
    return b"\n".join(lines)


def _end_of(lines: list[bytes], start: int) -> int:
    """Return the number of the line behind a section, or behind a directive with its continuation lines."""
    first = lines[start].lstrip()
    if first[:1] == b"<" and first[1:2].isalpha():
        closing = b"</" + first[1:].split(b">")[0].split()[0].lower()
        ends = (n for n in range(start, len(lines)) if lines[n].lstrip().lower().startswith(closing))
        return next(ends, len(lines) - 1) + 1
    end = start
    while end < len(lines) - 1 and lines[end].rstrip(b"\r").endswith(b"\\"):
        end += 1
    return end + 1
