"""Faults of whole texts: programs, other encodings, texts of other programs, damaged and misspelled ones.

`check`, `upgrade` and `fmt` apply one test: what it finds is reported with line and remedy, and the file
stays as it is. `verify`, `explain` and `replay` print the same sentence beside httpd's message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.load import directive_names
from whimbrel.syntax.lines import TOO_DEEP, V22_LINES
from whimbrel.syntax.tree import Directive, Document, Malformed, Section, parse
from whimbrel.upgrade.source.foreign_text import is_foreign
from whimbrel.upgrade.source.templates import marked_lines

BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS: Final = bytes(n for n in range(32) if n not in (0, 9, 10, 12, 13, 27))
_LINK_TARGET: Final = re.compile(rb"\.\.?/[^\s\0]{1,4096}\r?\n?")
"""The target of a relative link alone, which no line of a configuration looks like."""
MAX_CONTROL_SHARE: Final = 0.02
"""The share of control bytes from which on a file with NUL bytes is a program or an image."""
TEMPLATE_REASON: Final = "a template: another program writes the configuration from it"
TEMPLATE_ADVICE: Final = "give the text that is written from the template"
MIN_TYPO_LENGTH: Final = 6
"""Shorter names are too close to each other for a guess, but for two letters in the other order."""
_OPAQUE: Final = ("perl", "lua", "macro")
"""Beginnings of sections with text of another language, or with parameters in names."""


class FaultKind(Enum):
    """The kind of a fault; True as the second value: no line of the text can be read."""

    BINARY = "binary", True
    UTF_16 = "utf-16", True
    ONE_LINE = "one line", True
    FOREIGN = "foreign", True
    LINK = "link", True
    BYTE_ORDER_MARK = "byte order mark", False
    NUL = "nul", False
    OPEN_SECTION = "open section", False
    STRAY_TAG = "stray tag", False
    CUT_OFF = "cut off", False
    MISSPELLED = "misspelled", False
    TEMPLATE = "template", False

    @property
    def is_unreadable(self) -> bool:
        """Return True if no line of the text can be read."""
        return bool(self.value[1])

    @property
    def ends_start(self) -> bool:
        """Return True if every version of httpd ends its start at such a line."""
        return self in (FaultKind.OPEN_SECTION, FaultKind.STRAY_TAG)


LINK_TEXT: Final = "it is the target of a symbolic link"
COPY_LINKS: Final = "copy the tree with its links (cp -a, rsync -l, tar)"


@dataclass(frozen=True, slots=True)
class TextFault:
    """One fault: its line, a sentence, and what to do."""

    kind: FaultKind
    line: int
    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}"


def text_faults(data: bytes, document: Document | None = None) -> tuple[TextFault, ...]:
    """Return the faults of a file, () for a text that httpd may read; a fault of the whole text stands alone.

    *document* is the tree of *data*, if there is one. Templates are no faults: see `templates`.
    """
    fault = _encoding_fault(data)
    if fault is not None:
        return (fault,)
    if document is None:
        document = parse(data, V22_LINES)
    marks = bool(marked_lines(data))
    if _LINK_TARGET.fullmatch(data):
        reason = f"this text is no configuration of httpd: {LINK_TEXT}"
        advice = f"{COPY_LINKS}, or make the file the link again: ln -sf TARGET FILE"
        return (TextFault(FaultKind.LINK, 1, reason, advice),)
    if not marks and is_foreign(document):
        reason = "this text is no configuration of httpd: hardly a line begins with a directive"
        return (
            TextFault(FaultKind.FOREIGN, 1, reason, "give a configuration of httpd, or remove what names it"),
        )
    if data.startswith(BOM):  # a tag behind it is still a tag
        document = parse(data[len(BOM) :], V22_LINES)
    return (*_damaged_bytes(data), *(() if marks else _node_faults(document)))


def encoding_faults(data: bytes) -> tuple[TextFault, ...]:
    """Return the faults of a file that its bytes show, without a parse."""
    fault = _encoding_fault(data)
    return (fault,) if fault is not None else tuple(_damaged_bytes(data))


def _encoding_fault(data: bytes) -> TextFault | None:
    if data[:2] in _UTF16 or _is_bare_utf16(data):
        reason = "the text is UTF-16, which httpd does not read"
        return TextFault(FaultKind.UTF_16, 1, reason, "convert it: iconv -f UTF-16 -t UTF-8")
    if b"\n" not in data and data.rstrip(b"\r").count(b"\r") > 0:
        reason = "lines end with carriage returns alone, which httpd reads as one line"
        return TextFault(FaultKind.ONE_LINE, 1, reason, "convert it: tr '\\r' '\\n'")
    if b"\0" in data:
        controls = len(data) - len(data.translate(None, _CONTROLS))
        if data[:4] == b"\x7fELF" or controls > MAX_CONTROL_SHARE * len(data):
            return TextFault(
                FaultKind.BINARY, 1, "the file is binary, no text", "give a text, or remove what names it"
            )
    return None


def _is_bare_utf16(data: bytes) -> bool:
    """Return True for UTF-16 without a byte order mark: every second byte of the beginning is NUL."""
    start = data[:64]
    half = len(start) // 2
    return half >= 4 and max(start[0::2].count(0), start[1::2].count(0)) >= half - 1


def _damaged_bytes(data: bytes) -> Iterator[TextFault]:
    if data.startswith(BOM):
        reason = "the file begins with a byte order mark, which httpd reads as part of the first name"
        yield TextFault(FaultKind.BYTE_ORDER_MARK, 1, reason, "remove the first three bytes")
    at = data.find(b"\0")
    if at >= 0:
        line = data.count(b"\n", 0, at) + 1
        count = data.count(b"\0")
        reason = f"a NUL byte ({count} in this file): httpd ignores the rest of its line"
        yield TextFault(FaultKind.NUL, line, reason, "remove the NUL bytes")


def _node_faults(document: Document) -> Iterator[TextFault]:
    """Yield sections that are not closed, tags without their section, and misspelled names.

    The names of a branch are not judged: they may be those of a module that is not here.
    """
    waiting = [(node, False) for node in reversed(document.children)]
    named: set[Malformed] = set()
    while waiting:
        node, is_branch = waiting.pop()
        if isinstance(node, Malformed):
            if node not in named:
                yield _malformed(node)
        elif isinstance(node, Section):
            if node.close is None:
                fault, tag = _open_section(node, document.bytes)
                yield fault
                named |= {tag} if tag is not None else set()
            name = node.name.lower()
            if name.startswith(_OPAQUE):
                continue
            if not is_branch and (meant := meant_name(f"<{node.name}")):
                yield _typo(f"<{node.name}", meant, node.number)
            inside = is_branch or name.startswith("if")
            waiting += [(child, inside) for child in reversed(node.children)]
        elif isinstance(node, Directive) and not is_branch and (meant := meant_name(node.name)):
            yield _typo(node.name, meant, node.number)


def _open_section(section: Section, data: bytes) -> tuple[TextFault, Malformed | None]:
    """Return the fault of a section that is not closed, and the tag in it that closes no section: httpd ends
    its start there, and that is the tag that was meant.
    """
    tags = (node for node in section.children if isinstance(node, Malformed) and "closing tag" in node.reason)
    tag = next(tags, None)
    if tag is None:
        reason = f"<{section.name}> is not closed"
        advice = f"write </{section.name}> where the section ends"
        return TextFault(FaultKind.OPEN_SECTION, section.number, reason, advice), None
    text = to_text(data[tag.start : tag.end]).strip()
    reason = f"{text} does not close <{section.name}>, which line {section.number} opens"
    return TextFault(FaultKind.OPEN_SECTION, tag.number, reason, f"write </{section.name}>"), tag


def _malformed(node: Malformed) -> TextFault:
    if "closing tag" in node.reason:
        advice = "open the section, or remove the line"
        return TextFault(FaultKind.STRAY_TAG, node.number, node.reason, advice)
    advice = "close sections before it" if node.reason == TOO_DEEP else "complete the line"
    return TextFault(FaultKind.CUT_OFF, node.number, node.reason, advice)


def _typo(name: str, meant: str, line: int) -> TextFault:
    reason = f"{name} is no directive of httpd; {meant} is"
    return TextFault(FaultKind.MISSPELLED, line, reason, f"write {meant}")


@cache
def meant_name(name: str) -> str:
    """Return the directive of which *name* is a misspelling by one letter, or by the order of two letters;
    "" for none.
    """
    low = name.removeprefix("\xef\xbb\xbf").lower()
    if low in directive_names():
        return ""
    from whimbrel.catalogue.third_party import product_of_directive  # for an unknown name

    if product_of_directive(low) is not None:
        return ""
    exchanged = next(_exchanged(low), "")
    if exchanged or len(low) < MIN_TYPO_LENGTH:
        return exchanged
    for variant in _variants(low):
        if (meant := _variants_of_known().get(variant)) is not None:
            return meant
    return ""


def _exchanged(low: str) -> Iterator[str]:
    """Yield the directives whose names have two neighbouring letters of *low* in the other order."""
    for at in range(len(low) - 1):
        other = low[:at] + low[at + 1] + low[at] + low[at + 2 :]
        if other in directive_names():
            yield directive_names()[other]


@cache
def _variants_of_known() -> dict[str, str]:
    """Key: a known name, or one with one letter left out; value: the name. Two names of which one letter is
    wrong, too many, missing or exchanged have a variant in common."""
    found: dict[str, str] = {}
    for low, name in directive_names().items():
        if len(low) >= MIN_TYPO_LENGTH:
            for variant in _variants(low):
                found.setdefault(variant, name)
    return found


def _variants(name: str) -> Iterator[str]:
    yield name
    for at in range(len(name)):
        yield name[:at] + name[at + 1 :]


def faults_and_template(data: bytes) -> tuple[TextFault, ...]:
    """Return the faults of a file, and that it is a template; binary files have its marks by accident."""
    faults = text_faults(data)
    marks = marked_lines(data) if b"\0" not in data else []
    if marks:
        faults += (TextFault(FaultKind.TEMPLATE, marks[0], TEMPLATE_REASON, TEMPLATE_ADVICE),)
    return faults


def sentences(path: str, data: bytes, *, line: int | None = None) -> list[str]:
    """Return ``PATH:LINE: fault; remedy`` for each fault of a file, that of a template included.

    *line*, where httpd has stopped, leaves out misspelled names elsewhere, unless nothing else is wrong.
    """
    every = faults_and_template(data)
    faults = [one for one in every if one.kind is not FaultKind.MISSPELLED or line in (None, one.line)]
    return [f"{path}:{fault.line}: {fault}" for fault in faults or every]
