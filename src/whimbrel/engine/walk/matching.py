"""Match sections: by directory, URL path or regular expression.  Manual: sections.html."""

from __future__ import annotations

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.numbers import upper
from whimbrel.base.regex import Regex
from whimbrel.config.model import Layer, Section
from whimbrel.engine.request import Request


def location_matches(r: Request, section: Section, uri: str) -> bool:
    """Return True if a <Location> is about the request; *uri* is its path without doubled slashes."""
    if section.regex is not None:
        return regex_matches(r, section.regex, r.uri)
    return path_matches(section, uri)


def path_matches(section: Section, uri: str) -> bool:
    """Return True if a <Location> without regular expression is about a path without doubled slashes."""
    pattern = section.pattern
    if section.fnmatch:
        return compile_fnmatch(pattern, by_segment=True).search(uri) is not None
    if not uri.startswith(pattern):
        return False
    return pattern.endswith("/") or len(uri) == len(pattern) or uri[len(pattern)] == "/"


def regex_matches(r: Request, regex: Regex, subject: str) -> bool:
    """Return True if *regex* matches; its named groups become MATCH_ variables of the request (2.4)."""
    match = regex.search(subject)
    if match is None:
        return False
    names = regex.names
    if names and r.plan.dialect.auth_merging:
        for name, number in names.items():
            value = match.group(number)
            if value is not None:
                r.env["MATCH_" + upper(name)] = value
    return True


def regex_directories(r: Request, layer: Layer | None) -> Layer | None:
    """Return *layer* with the <DirectoryMatch> sections merged that match the whole path."""
    path = r.filename or ""
    for section in r.engine.regex_directories(r.server):
        if section.regex is not None and regex_matches(r, section.regex, path):
            layer = r.engine.plans.merge_layers(layer, section.layer)
    return layer


def name_matches(section: Section, name: str) -> bool:
    """Return True if a <Files> without regular expression is about the file *name*."""
    if section.fnmatch:
        return compile_fnmatch(section.pattern).search(name) is not None
    return section.pattern == name


def directory_matches(section: Section, directory: str) -> bool:
    """Return True if a <Directory> without regular expression is about *directory*, which ends in a slash."""
    if section.fnmatch:
        return compile_fnmatch(section.pattern, by_segment=True).search(directory) is not None
    return section.pattern == directory
