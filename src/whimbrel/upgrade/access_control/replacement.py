"""Replacement of a section's lines, with repetitions of the section for directories in which it decides
differently.

A <Files> section is repeated inside the directory's <Directory> or .htaccess, where it is merged later than
the outer one. A <Location> or Match section is repeated behind itself, for the part of its paths in the
directory. An <If> in a section has the lines for certain names of files, or for a directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from whimbrel.access.file_conditions import quoted
from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import LOCATION_KINDS, SectionKind
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.source.config_tree import Statement

Lines = tuple[AccessLine, ...]
FILES: Final = frozenset({SectionKind.FILES, SectionKind.FILES_MATCH})
_REPEATED: Final = frozenset({SectionKind.LOCATION, SectionKind.LOCATION_MATCH, SectionKind.DIRECTORY_MATCH})


@dataclass(frozen=True, slots=True)
class Repetition:
    """The lines *control* for requests below the directory of *holder*.

    *prefix* is its path as the section's pattern matches it, without a slash at the end. *server* is the
    virtual host that the repetition is written into; None: it follows the section, or is in its holder.
    *without* are <Files> sections whose names a repeated <Files> section leaves out.
    """

    holder: AccessSection
    control: Lines
    prefix: str = ""
    server: Statement | None = None
    without: tuple[AccessSection, ...] = ()

    def applies(self, section: AccessSection, chain: Chain, server: Statement | None) -> bool:
        """Return True if the repetition of *section* applies to the request of *chain* at *server*."""
        if section.kind in FILES:
            return self.holder in chain.sections and self.has_name_of(chain)
        text = chain.path if section.kind is SectionKind.DIRECTORY_MATCH else chain.url
        return (self.server is None or self.server is server) and f"{text}/".startswith(f"{self.prefix}/")

    def has_name_of(self, chain: Chain) -> bool:
        """Return True if the name of the file is not among those that are left out."""
        return not any(one in chain.sections for one in self.without)


@dataclass(frozen=True, slots=True)
class FileCase:
    """The lines *control* of an <If> in a section, for requests to which all <Files> sections *files* apply.

    *holder*: they are those in the directory of this section or file alone; None: in any directory.
    httpd merges <If> behind all other sections, in the order of the sections that hold them.
    """

    files: tuple[AccessSection, ...]
    control: Lines
    holder: AccessSection | None = None

    def applies(self, chain: Chain) -> bool:
        """Return True if the lines are in force for the requests of *chain*."""
        needed = self.files if self.holder is None else (*self.files, self.holder)
        return all(section in chain.sections for section in needed)


@dataclass(frozen=True, slots=True)
class Replacement:
    """The new lines of a section, its repetitions, and its cases.

    Repetitions and cases of shallow directories, and cases of few <Files> sections, come first.
    """

    control: Lines
    repeats: tuple[Repetition, ...] = ()
    cases: tuple[FileCase, ...] = ()

    @property
    def texts(self) -> tuple[Lines, ...]:
        """The lines of the section, of its repetitions, and of its cases."""
        repeated = (repeat.control for repeat in self.repeats)
        return (self.control, *repeated, *(case.control for case in self.cases))


Applies = Callable[[AccessSection, Repetition], bool]
"""Return True if the repetition of the section is in force for the request of a chain."""


def directory_of(section: AccessSection) -> str:
    """Return the directory that a section or file applies to, "" if it is not exactly one."""
    if section.kind is SectionKind.HTACCESS:
        return "" if section.linked else section.directory
    return (
        section.pattern
        if section.kind is SectionKind.DIRECTORY and section.regex is None and not section.fnmatch
        else ""
    )


def can_repeat(section: AccessSection) -> bool:
    """Return True if the section can be repeated for a part of its requests."""
    return not section.is_proxy and (section.kind in FILES or section.kind in _REPEATED)


def can_hold(holder: AccessSection, unit: AccessSection) -> bool:
    """Return True if a repetition of *unit* in the directory of *holder* affects no other virtual host than
    *unit* does.

    A <Files> section is repeated inside its holder, which may serve several hosts; other sections are
    repeated behind themselves.
    """
    return unit.kind not in FILES or unit.server is None or unit.server is holder.server


def holders(section: AccessSection, chain: Chain) -> list[AccessSection]:
    """Return the sections and files of *chain* whose directories distinguish it from other chains, shallow
    ones first."""
    own_directory = directory_of(section.outer) if section.outer is not None else ""
    by_directory: dict[str, AccessSection] = {}
    for other in chain.sections:
        directory = directory_of(other)
        if (
            directory not in ("", "/", own_directory)
            and other is not section
            and directory.startswith(own_directory)
        ):
            if section.kind in FILES and other.kind is SectionKind.DIRECTORY and other.statement is None:
                continue
            by_directory[directory] = other
    return list(by_directory.values())


def prefixes_of(section: AccessSection, holder: AccessSection, chains: Sequence[Chain]) -> list[str]:
    """Return the directory of the holder as the pattern of *section* matches it, once for each alias of the
    directory; nothing if it is unknown.

    It is a path or a URL path without a slash at its end.
    """
    if section.kind in FILES:
        return [""]
    if section.kind is SectionKind.DIRECTORY_MATCH:
        return [directory_of(holder).rstrip("/")]
    first = url_prefix(holder, chains[0].path, chains[0].url)
    if first is None:
        return []
    aliases = (
        url_prefix(holder, chain.path, url)
        for chain in chains
        for url in (chain.url, *chain.aliases)
        if section.matches(url)
    )
    return list(dict.fromkeys([first, *(prefix for prefix in aliases if prefix is not None)]))


def url_prefix(holder: AccessSection, path: str, url: str) -> str | None:
    """Return the URL path of the directory of *holder*, None if it is unknown; *url* is mapped to *path*."""
    directory = directory_of(holder)
    rest = path[len(directory) :] if path.startswith(directory) else None
    if rest is None or not url.endswith(rest):
        return url.rstrip("/") if path + "/" == directory else None
    return (url[: -len(rest)] if rest else url).rstrip("/") or None


def opening_line(section: AccessSection, repeat: Repetition) -> str:
    """Return the opening line of a repetition, without brackets."""
    if section.kind in FILES:
        assert section.statement is not None
        if repeat.without:
            others = "|".join(name_expression(one) for one in repeat.without)
            return f"FilesMatch {quoted(f'^(?!.*?(?:{others}))(?=.*?(?:{name_expression(section)}))')}"
        return f"{_NAMES[section.kind]} {section.statement.args}"
    if section.regex is None and not section.fnmatch:
        return f'Location "{repeat.prefix}"'
    ahead = f"^(?={re.escape(repeat.prefix)}(?:/|$))"
    pattern = section.pattern if section.regex is not None else ""
    name = "DirectoryMatch" if section.kind is SectionKind.DIRECTORY_MATCH else "LocationMatch"
    return f'{name} "{ahead}.*?(?:{pattern})"' if pattern and '"' not in pattern else f'{name} "{ahead}"'


def name_expression(section: AccessSection) -> str:
    """Return the pattern of a <Files> section as an expression that is searched in the name of a file."""
    expression = section.expression
    return f"^{re.escape(section.pattern)}$" if expression is None else expression.pattern


def can_leave_out(section: AccessSection, other: AccessSection, holder: AccessSection) -> bool:
    """Return True if a repetition of *section* in *holder* can leave out the names of *other*.

    *other* must apply to its names wherever the repetition does. A group of an expression would change the
    number of a back reference behind it.
    """
    if other.outer is not None or other.conditions or other.server not in (None, holder.server):
        return False
    texts = [name_expression(one) for one in (section, other) if not one.is_malformed]
    return len(texts) == 2 and not any(_BACK_REFERENCE.search(text) for text in texts)


_BACK_REFERENCE: Final = re.compile(r"\\[1-9gk]|\(\?(?:P[=>]|R|[0-9+&-])|[^ -~]|\$\{|%\{")
"""Back references, calls of groups, and what a line of a configuration does not keep."""
_NAMES: Final = {SectionKind.FILES: "Files", SectionKind.FILES_MATCH: "FilesMatch"}


def merge_order(
    chain: Chain,
    replacements: Mapping[AccessSection, Replacement],
    applies: Applies | None = None,
) -> Iterator[tuple[AccessSection, Lines, bool]]:
    """Yield the sections of a chain with their lines in merge order; True marks a repetition or a case.

    *applies* decides which repetitions of a section are in force; without it those whose holder is in the
    chain are.
    """
    index = {section: at for at, section in enumerate(chain.sections)}
    files: list[tuple[int, bool, AccessSection, Lines]] = []
    cases: list[tuple[AccessSection, Lines]] = []
    for section in chain.sections:
        replacement = replacements.get(section, Replacement(()))
        cases += [(section, case.control) for case in replacement.cases if case.applies(chain)]
        in_chain = [
            repeat
            for repeat in replacement.repeats
            if (
                repeat.holder in index and repeat.has_name_of(chain)
                if applies is None
                else applies(section, repeat)
            )
        ]
        if section.kind in FILES:
            files.append((_depth(section.outer, index), False, section, replacement.control))
            files += [(2 * index[one.holder], True, section, one.control) for one in in_chain]
            continue
        yield from _in_order_of_outer(files)
        files = []
        yield section, replacement.control, False
        yield from ((section, repeat.control, True) for repeat in in_chain)
    yield from _in_order_of_outer(files)
    yield from ((u, lines, True) for u, lines in cases)


def _in_order_of_outer(
    files: list[tuple[int, bool, AccessSection, Lines]],
) -> Iterator[tuple[AccessSection, Lines, bool]]:
    """Yield <Files> sections as httpd merges them: those of a directory behind those of directories that are
    merged before it, repetitions behind the sections that stand there."""
    for _, is_repeated, section, lines in sorted(files, key=lambda entry: entry[:2]):
        yield section, lines, is_repeated


def _depth(outer: AccessSection | None, index: Mapping[AccessSection, int]) -> int:
    """Return twice the place of *outer* in the chain; an odd number for one without lines: it is not there.

    A <DirectoryMatch> is merged behind all <Directory> sections and .htaccess files.
    """
    if outer is None:
        return -1
    if outer in index:
        return 2 * index[outer]
    directory = directory_of(outer)
    before = [
        at
        for section, at in index.items()
        if section.kind not in FILES | LOCATION_KINDS
        and (
            outer.regex is not None
            or (section.regex is None and len(directory_of(section)) <= len(directory))
        )
    ]
    return 2 * max(before, default=-1) + 1


def group_by_directory(
    section: AccessSection, chains: Sequence[Chain]
) -> list[tuple[AccessSection | None, list[Chain]]]:
    """Return the chains by the deepest directory that distinguishes them, shallow ones first."""
    groups: dict[str, tuple[AccessSection | None, list[Chain]]] = {}
    for chain in chains:
        deepest = max(holders(section, chain), key=lambda u: len(directory_of(u)), default=None)
        key = directory_of(deepest) if deepest is not None else ""
        groups.setdefault(key, (deepest, []))[1].append(chain)
    return [groups[key] for key in sorted(groups, key=len)]


@contextmanager
def with_replacement(
    replacements: dict[AccessSection, Replacement], section: AccessSection, replacement: Replacement
) -> Iterator[None]:
    """Set the replacement of one section in *replacements* for the duration of the context.

    A copy of the mapping would cost time proportional to the number of sections.
    """
    previous = replacements.get(section)
    replacements[section] = replacement
    try:
        yield
    finally:
        if previous is None:
            del replacements[section]
        else:
            replacements[section] = previous
