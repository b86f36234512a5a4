"""What the hooks of a request read of its path: the names in one directory that get the same answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any, Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes
from whimbrel.config.model import Section
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.engine.walk.matching import name_matches, path_matches
from whimbrel.registry.module import CompiledHook, Reads

_CHECKS_ACCESS: Final = ("access_checker", "access_checker_ex", "check_user_id", "auth_checker")
_AFTER_WALKS: Final = (
    "header_parser",
    "type_checker",
    "fixups",
    "insert_filter",
    "insert_error_filter",
    "log_transaction",
    "note_auth_failure",
)

Match = Callable[[str], bool]
Classify = Callable[[bytes, bytes], Hashable]


class NameRules:
    """What the settings of a directory read of names.

    Attributes:
        prefixes: URL paths; names that lead to them are special.
        path_matches: functions of the URL path, `name_matches`: of the file's name; one that returns True
            makes the name special, too.
        classifiers: functions of the name; names with equal results are treated alike.
    """

    __slots__ = ("_plain", "classifiers", "name_matches", "path_matches", "prefixes")

    def __init__(self) -> None:
        self.prefixes: tuple[str, ...] = ()
        self.path_matches: list[Match] = []
        self.name_matches: list[Match] = []
        self.classifiers: list[Callable[[str], Hashable]] = []
        self._plain: Classify | None = None

    def compiled(self, special: set[str]) -> Classify:
        """Return a function of a URL path and its first name below the directory: the class of the name, None
        if it is special.

        It is compiled from source that has only the tests of these rules; directories without special names
        share it.
        """
        if special:
            return self._compile(special)
        if self._plain is None:
            self._plain = self._compile(special)
        return self._plain

    def _compile(self, special: set[str]) -> Classify:
        lines = ["def classify(path, name):"]
        values: dict[str, Any] = {"SPECIAL": frozenset(map(to_bytes, special))}
        if special:
            lines += ["if name in SPECIAL:", "    return None"]
        if self.path_matches:
            lines.append("path = path.decode('latin-1')")
        if self.name_matches or self.classifiers:
            lines.append("name = name.decode('latin-1')")
        for argument, matches in (("path", self.path_matches), ("name", self.name_matches)):
            for match in matches:
                values[f"matches_{len(values)}"] = match
                lines += [f"if matches_{len(values) - 1}({argument}):", "    return None"]
        classes = []
        for classify in self.classifiers:
            values[f"classify_{len(values)}"] = classify
            classes.append(f"classify_{len(values) - 1}(name)")
        lines.append(f"return ({', '.join([*classes, ''])})")
        exec("\n    ".join(lines), values)
        function: Classify = values["classify"]
        return function


def classifier(r: Request, url_directory: str, directory: str) -> Classify | None:
    """Return the function that classifies the names in *url_directory*, which is *directory* in the file
    system; None if a hook or a section does not declare what it reads.

    *r* is a finished request for one of them.
    """
    root = r.engine.plans.root(r.server)
    if root.core.ifs or r.plan.core.ifs or r.plan.is_traced:
        return None
    special: set[str] = set()
    located = _add_locations(special, r, root, url_directory)
    key = (classifier, root, located)
    if key not in r.plan.notes:
        r.plan.notes[key] = _plan_rules(r, root, located)
    rules: NameRules | None = r.plan.notes[key]
    if rules is None or not _add_directories(special, r, directory):
        return None
    for prefix in (*rules.prefixes, *_server_paths(r)):
        _add_prefix(special, prefix, url_directory)
    return rules.compiled(special)


def _plan_rules(r: Request, root: Plan, located: Plan) -> NameRules | None:
    """Return what the settings of *r* read of a path; None if some of it is not declared."""
    rules = NameRules()
    rules.path_matches += [
        partial(_is_of, path_matches, s) for s in root.locations.sections if _has_pattern(s)
    ]
    rules.name_matches += [partial(_is_of, name_matches, section) for section in r.plan.core.files or ()]
    for hook in _hooks(r, root, located):
        if hook.constant is not None:
            continue
        if hook.reads & Reads.PATH:
            return None
        if any(prefix[:1] != "/" or "//" in prefix for prefix in hook.path_rules.prefixes):
            return None
        rules.prefixes += hook.path_rules.prefixes
        rules.path_matches += hook.path_rules.matches
        if hook.path_rules.classify is not None:
            rules.classifiers.append(hook.path_rules.classify)
    return rules


def _hooks(r: Request, root: Plan, located: Plan) -> Iterator[CompiledHook]:
    """Iterate over the hooks that a request like *r* may run, but for handlers."""
    translation = (located.pre_translate_name, located.translate_name)
    for phase in (root.post_read_request, root.quick_handler, *translation, root.map_to_storage):
        yield from phase.compiled_hooks()
    names = _AFTER_WALKS if r.plan.always_grants() else (*_CHECKS_ACCESS, *_AFTER_WALKS)
    for name in names:
        phase = getattr(r.plan, name)
        yield from phase.compiled_hooks()


def _add_prefix(special: set[str], prefix: str, directory: str) -> None:
    """Make the name special below which *prefix* is, if it is below *directory*."""
    if prefix.startswith(directory) and prefix != directory:
        special.add(prefix[len(directory) :].partition("/")[0])


def _server_paths(r: Request) -> tuple[str, ...]:
    """Return the ServerPaths of all servers: they select the server of a request without a host name, and are
    not part of the file's name.
    """
    notes = r.engine.plans.root(r.engine.main).notes
    if _server_paths not in notes:
        servers = r.engine.configuration.servers()
        notes[_server_paths] = tuple([server.path for server in servers if server.path])
    found: tuple[str, ...] = notes[_server_paths]
    return found


def _has_pattern(section: Section) -> bool:
    """Return True if a <Location> is not known by a literal prefix."""
    return section.regex is not None or section.fnmatch or section.pattern[:1] != "/"


def _add_locations(special: set[str], r: Request, root: Plan, directory: str) -> Plan:
    """Add literal <Location> sections below *directory*; return the plan with those for all of it."""
    layer = None
    for section in root.locations.sections:
        if _has_pattern(section):
            continue
        if path_matches(section, directory):
            layer = r.engine.plans.merge_layers(layer, section.layer)
        else:
            _add_prefix(special, section.pattern, directory)
    return root if layer is None else root.with_layer(layer)


def _add_directories(special: set[str], r: Request, directory: str) -> bool:
    """Add the <Directory> sections below *directory*; return False if one may concern any name."""
    if r.engine.regex_directories(r.server):
        return False
    segments = directory.strip("/").split("/")
    for section in r.engine.plain_directories(r.server):
        if not section.fnmatch:
            _add_prefix(special, section.pattern, directory)
        elif _may_be_below(section.pattern, segments):
            return False
    return True


def _may_be_below(pattern: str, segments: list[str]) -> bool:
    """Return True if *pattern*, with wildcards, may match a path below the directory of *segments*."""
    parts = pattern.strip("/").split("/")
    return len(parts) > len(segments) and all(
        compile_fnmatch(part).search(segment) is not None
        for part, segment in zip(parts, segments, strict=False)
    )


def _is_of(matches: Callable[[Section, str], bool], section: Section, text: str) -> bool:
    """Return True if *section* matches by its regular expression, or by *matches* without one."""
    return matches(section, text) if section.regex is None else section.regex.search(text) is not None
