"""Conditions of <If> that hold for exactly the requests of <Files> sections, or for those of a directory.

httpd merges <Files> before <Location>, and <If> behind both. A condition takes the name from the file path,
as ap_file_walk does: what follows the last slash. The path of a proxied request does not begin with a slash;
no <Files> section applies to it. Manual: sections.html, expr.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.access.sections import RequestSection
from whimbrel.config.model import SectionKind

_PATH: Final = "%{REQUEST_FILENAME} =~ m#^{}(?:[^/]*/)*([^/]*)$#"
"""The condition that holds below a directory, and puts the name of the file into ``$1``."""
_BELOW: Final = "%{REQUEST_FILENAME} =~ m#^{}(?:/|$)#"
"""The condition that holds for a directory and all below it."""
_DIRECTORY: Final = re.compile(r"/(?:[A-Za-z0-9._+~@=, -]+/)*")
_LITERAL: Final = re.compile(r"[A-Za-z0-9._+~@=, -]+")
"""A name that a string of an expression gives unchanged."""
_GLOB: Final = re.compile(r"[A-Za-z0-9._+~@=, *?\[\]^!-]+")
_PRINTABLE: Final = re.compile(r"[ -~]+")
_DELIMITERS: Final = "#,;!%_"
_JOINT: Final = " && "
_TEST: Final = (
    r"(?:== '[^'\\$%]+'|-fnmatch '[^'\\$%]+'|=~ m(?:#[^#]+#|,[^,]+,|;[^;]+;|![^!]+!|%[^%]+%|_[^_]+_))"
)
_ONE: Final = re.escape(_PATH).replace(r"\{\}", r"/[^#|()\[\]]*") + rf" && \$1 {_TEST}"
_WITHIN: Final = re.escape(_BELOW).replace(r"\{\}", r"/[^#|()\[\]]*")
_NAME: Final = re.compile(r" && \$1 (?:(?:==|-fnmatch) '([^']+)'|=~ m([#,;!%_])(.+?)\2)")
_CONDITION: Final = re.compile(rf"(?:{_WITHIN}|{_ONE})(?: && {_ONE})*")


def file_condition(sections: Iterable[RequestSection], directory: str = "") -> str | None:
    """Return the condition that holds where all of *sections* apply to a file in or below *directory*.

    *directory* ends with a slash; "": any. None: one of the sections is no <Files> or <FilesMatch>, or a
    pattern or the directory is nothing that an expression can hold as it is, or nothing is to be tested.
    Of the sections around them a <Directory> of one path is in the condition, others are not.
    """
    tests = [_test(section) for section in sections]
    if directory:
        tests.insert(0, _below(directory))
    return _JOINT.join(test for test in tests if test is not None) if tests and None not in tests else None


def covers_outer(section: RequestSection) -> bool:
    """Return True if `file_condition` has the section around this one too, or there is none."""
    return section.outer is None or _directory(section) is not None


def is_file_condition(condition: str) -> bool:
    """Return True for a condition as `file_condition` writes it: the file path alone decides it."""
    return _CONDITION.fullmatch(condition) is not None


def name_patterns(condition: str) -> frozenset[str] | None:
    """Return the patterns of names in a condition as `file_condition` writes it; None for another one.

    There are none in a condition about a directory alone.
    """
    if not is_file_condition(condition):
        return None
    return frozenset(found[1] or found[3] for found in _NAME.finditer(condition))


def quoted(condition: str) -> str:
    """Return *condition* as one quoted word of a configuration: httpd reads it back unchanged."""
    return '"' + re.sub(r'\\(?=["\\]|$)|"', r"\\\g<0>", condition) + '"'


def _test(section: RequestSection) -> str | None:
    """Return the condition of one section."""
    name = _name_test(section)
    directory = _escaped(_directory(section) or "/")
    return f"{_PATH.replace('{}', directory)} && $1 {name}" if name is not None else None


def _below(directory: str) -> str | None:
    path = directory.rstrip("/")
    return _BELOW.replace("{}", _escaped(path)) if path and _DIRECTORY.fullmatch(directory) else None


def _escaped(path: str) -> str:
    return re.escape(path).replace(r"\-", "-").replace(r"\ ", " ")


def _directory(section: RequestSection) -> str | None:
    """Return the path of the outermost <Directory> around the section, None if it is not exactly one."""
    outer = section.outer
    if outer is None or outer.kind is not SectionKind.DIRECTORY or outer.outer is not None:
        return None
    is_path = outer.regex is None and not outer.fnmatch and _DIRECTORY.fullmatch(outer.pattern)
    return outer.pattern if is_path else None


def _name_test(section: RequestSection) -> str | None:
    """Return what a condition says about the name in ``$1``."""
    pattern = section.pattern
    if section.is_malformed or section.kind not in (SectionKind.FILES, SectionKind.FILES_MATCH):
        return None
    if section.regex is not None:
        return _regex_test(pattern)
    if section.fnmatch:
        return f"-fnmatch '{pattern}'" if _GLOB.fullmatch(pattern) else None
    return f"== '{pattern}'" if _LITERAL.fullmatch(pattern) else None


def _regex_test(pattern: str) -> str | None:
    """Return the match of an expression; it has no escape for its delimiter."""
    delimiter = next((mark for mark in _DELIMITERS if mark not in pattern), None)
    # ${NAME} and %{NAME} are replaced by the reader of the configuration, or may be
    if delimiter is None or not _PRINTABLE.fullmatch(pattern) or "${" in pattern or "%{" in pattern:
        return None
    return f"=~ m{delimiter}{pattern}{delimiter}"
