"""The directives of both sides that a difference comes from.

A line is named if it stands in a scope that applies to the request and the other side does not have it there.
Where both sides have the same lines (one text under two dialects), the lines that the differing part of the
answer depends on are named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.plan.plan import Plan
from whimbrel.verify.answer import DECIDES, Answer, DecidingLine
from whimbrel.verify.config_lines import SECTIONS, ConfigLine, LineScope, SideLines, key_of
from whimbrel.verify.coverage.decided_by import SELF_ACTING
from whimbrel.verify.difference import Difference
from whimbrel.verify.named_files import names_file
from whimbrel.verify.probe_engine import ProbePlanCache
from whimbrel.verify.program_sources import SOURCE
from whimbrel.verify.text_differences import MAX_LINES, Roots, TextDifferences, shown

_ACCESS: Final = (
    r"order|allow|deny|satisfy|require\w*|auth.*|limit(except)?|allowoverride\w*|anonymous.*|ssl(require|verify).*"
    r"|allowmethods"
)
_MAPPING: Final = (
    r"(script)?alias(match)?|redirect\w*|rewrite\w*|documentroot|userdir|proxypass\w*|virtual.*|options"
)
_MULTIVIEWS: Final = r"options \(multiviews\)"
"""The form of Options lines with MultiViews, the only option that Vary depends on."""
_TYPES: Final = (
    r"(add|remove|force|set|default)\w*(type|handler|filter|charset|encoding|language|file).*|action|php_.*"
)
_FAMILIES: Final[tuple[tuple[str, str], ...]] = (
    (
        r"status|location",
        rf"{_ACCESS}|{_MAPPING}|{_TYPES}|directoryindex|fallbackresource|errordocument|limit\w+",
    ),
    (SOURCE, rf"{_TYPES}|{_MAPPING}"),
    (r"user|www-authenticate", _ACCESS),
    (r"demands on the back end", r"sslproxy\w*|proxypass\w*|rewriterule"),
    (
        r"file|handler",
        rf"{_MAPPING}|{_TYPES}|directory(index|slash)|fallbackresource|multiviews.*|(force)?languagepriority",
    ),
    (
        r"body",
        rf"{_MAPPING}|{_TYPES}|errordocument|index\w*|add(icon|alt|description).*|.*filter.*|readmename|headername",
    ),
    (r"environment SSL_.*", r"ssloptions|(set|unset|pass)env.*|browsermatch\w*|rewriterule"),
    (r"environment .*", r"(set|unset|pass)env.*|browsermatch\w*|rewriterule"),
    (r"content-type|content-language|content-encoding", rf"{_TYPES}|mime\w*|typesconfig|languagepriority"),
    (r"etag", r"fileetag|header"),
    (r"allow", r"limit\w*|allowmethods|traceenable|require|dav.*"),
    (r"expires|cache-control", r"expires.*|header|cache.*"),
    (r"vary", rf"rewrite\w*|header|deflate.*|multiviews.*|{_MULTIVIEWS}|.*filter.*"),
    (r".*", r"(request)?header|cookie.*|server.*|.*filter.*|expires.*"),
)
"""What differs, and the names of the directives that it depends on."""


_CONTROL: Final = r"allowoverride\w*|order|allow|deny|satisfy|require\w*|auth\w*|anonymous\w*"
"""Directives that decide nothing else where both sides decide about access alike."""
_NEVER_STATUS: Final = r"fileetag|header|expires\w*|add(icon|alt|description)\w*|server(tokens|signature)"
"""Directives that no status depends on."""
_NAMES: Final = frozenset(("servername", "serveralias"))
_ENDING: Final = re.compile(r"rewrite(rule|cond)|redirect(match|temp|permanent)?")
"""Directives that end a request before its sections are looked at."""
_READING: Final = frozenset(("allowoverride", "allowoverridelist", "accessfilename"))
REFUSED_LINE: Final = re.compile(r"(/[^:]*): (?:Invalid command ')?<?([\w-]+)")
"""Message of the error log about a line of a .htaccess file: the path, and the name of the directive."""
_SERVING: Final = re.compile(rf"{_MAPPING}|{_CONTROL}|servername|serveralias|listen|namevirtualhost|ssl\w*")
"""Directives that decide whether a request is served, and by which host."""
ServerKey = tuple[str, int]
LineKey = tuple[str, str, str]
PlanPair = tuple[Plan | None, Plan | None]
_MAIN: Final[ServerKey] = ("", 0)


@dataclass(frozen=True, slots=True)
class Cause:
    """The responsible lines of both sides; *roots*: those that differ in the texts, under one version."""

    old: tuple[DecidingLine, ...]
    new: tuple[DecidingLine, ...]

    roots: Roots = frozenset()

    def joined(self, other: Cause) -> Cause:
        """Return the cause with lines of *other* that it lacks, if there is room."""
        pairs = zip((self.old, self.new), (other.old, other.new), strict=True)
        old, new = (_by_place((*a, *b))[: max(MAX_LINES, len(a))] for a, b in pairs)
        return Cause(old, new, self.roots)

    def with_deciding(self, lines: tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]]) -> Cause:
        """Return the cause with those of *lines* that decided, changed or not, before the others."""
        old, new = (_deciding_first(*pair) for pair in zip((self.old, self.new), lines, strict=True))
        return Cause(old, new, self.roots)


def _distinct(
    old: Iterable[DecidingLine], new: Iterable[DecidingLine]
) -> tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]]:
    """Return both rows without repetitions."""
    return tuple(dict.fromkeys(old)), tuple(dict.fromkeys(new))


def _deciding_first(
    changed: tuple[DecidingLine, ...], lines: tuple[DecidingLine, ...]
) -> tuple[DecidingLine, ...]:
    deciding = [line for line in lines if line.role == DECIDES]
    places = {(line.path, line.line) for line in deciding}
    known = {(line.path, line.line) for line in changed}
    deciding.sort(key=lambda line: (line.path, line.line) not in known)
    return _by_place((*deciding, *(line for line in changed if (line.path, line.line) not in places)))


def _by_place(lines: Iterable[DecidingLine]) -> tuple[DecidingLine, ...]:
    """Return the first of the lines with one place."""
    found: dict[tuple[str, int], DecidingLine] = {}
    for line in lines:
        found.setdefault((line.path, line.line), line)
    return tuple(found.values())


class Causes:
    """Finds the causes of differences between the sides whose lines are *old* and *new*."""

    def __init__(self, old: SideLines, new: SideLines) -> None:
        self.sides = (old, new)
        self._names: tuple[list[ConfigLine], list[ConfigLine]] | None = None
        self._keys: dict[ConfigLine, LineKey] = {}
        self._places = [_Places(lines, self.key_of) for lines in self.sides]
        self._found: dict[object, tuple[PlanPair, Cause]] = {}
        self.texts = TextDifferences()

    def forget(self) -> None:
        """Drop what belongs to plans that are about to be dropped."""
        self._found.clear()

    def cause(
        self,
        difference: Difference,
        plans: PlanPair,
        *,
        servers: tuple[ServerKey, ServerKey] = (_MAIN, _MAIN),
        has_equal_access: bool = False,
    ) -> Cause:
        """Return the cause of *difference* between answers that *plans* gave (None: no access check).

        *servers*: location of the virtual host on each side. *has_equal_access*: both sides decide about
        access alike, so no line about it is responsible.
        """
        key = (difference.names[:2], *map(id, plans), servers, has_equal_access)
        known = self._found.get(key)
        if known is None:
            scopes = [self.scopes(*one) for one in zip(self.sides, plans, servers, strict=True)]
            cause = self._cause(difference, plans, scopes, has_equal_access)
            known = (plans, self._with_roots(cause, scopes, _wanted(difference, _MAPPING)))
            self._found[key] = known
        return known[1]

    def _with_roots(self, cause: Cause, scopes: list[list[LineScope]], wanted: re.Pattern[str]) -> Cause:
        """Return the cause with lines that differ in the texts: without them the sides were the same.

        Between versions every line may do something else: with lines that name a file with another content.
        """
        if self.sides[0].side.dialect is not self.sides[1].side.dialect:
            return self._with_files(cause, scopes, wanted)
        roots = self.texts.roots_of((cause.old, cause.new))
        if roots:
            return Cause(cause.old, cause.new, roots)
        candidates = self.texts.candidates(scopes, wanted)
        roots = self.texts.roots_of(candidates)
        if not any(candidates):
            candidates = self._module_lines(0), self._module_lines(1)
            roots = frozenset(
                (number, (line.path, line.line)) for number, row in enumerate(candidates) for line in row
            )
        old, new = _distinct((*candidates[0], *cause.old), (*candidates[1], *cause.new))
        return Cause(old, new, roots)

    def _module_lines(self, number: int) -> list[DecidingLine]:
        """Return the LoadModule lines of modules that act without a directive and that side *number* alone
        has."""
        own, other = (
            {module.name for module in self.sides[at].side.loaded.modules.modules}
            for at in (number, 1 - number)
        )
        places = self.sides[number].side.loaded.module_places
        return [
            DecidingLine(places[name].path, places[name].line, f"LoadModule {name}", "directive")
            for name in sorted((own - other) & SELF_ACTING & places.keys())
        ]

    def with_files(
        self, cause: Cause, difference: Difference, plans: PlanPair, servers: tuple[ServerKey, ServerKey]
    ) -> Cause:
        """Return the cause with the lines that *difference* may depend on, and that name a file of which both
        sides have another content. The arguments are those of `cause`.
        """
        scopes = [self.scopes(*one) for one in zip(self.sides, plans, servers, strict=True)]
        return self._with_files(cause, scopes, _wanted(difference))

    def other_files(self, plans: PlanPair) -> Cause:
        """Return the lines about access under *plans* that name a file of which both sides have another
        content."""
        scopes = [self.scopes(*one) for one in zip(self.sides, plans, strict=True)]
        return self._with_files(Cause((), ()), scopes, re.compile(_CONTROL))

    def _with_files(self, cause: Cause, scopes: list[list[LineScope]], wanted: re.Pattern[str]) -> Cause:
        files = [_shown([x for x in _flat(row) if self._names_other(x, wanted)]) for row in scopes]
        return Cause(*_distinct((*files[0], *cause.old), (*files[1], *cause.new)))

    def _names_other(self, line: ConfigLine, wanted: re.Pattern[str]) -> bool:
        """Return True if the other side has the words of *line*, which name a file, for another content."""
        if not (names_file(line.name) and wanted.fullmatch(line.name)):
            return False
        other = self.texts.lines.get(line)
        return other is not None and line.words() == other.words()

    def _cause(
        self,
        difference: Difference,
        plans: PlanPair,
        scopes: list[list[LineScope]],
        has_equal_access: bool,
    ) -> Cause:
        without = _without_effect(difference, plans, has_equal_access)
        views = [scopes]
        if plans.count(None) == 1:
            # the lines of servers ended the request of one side before its sections were looked at
            views.insert(0, [[scope for scope in row if scope.kind == "server"] for row in scopes])
        rows = [[_lines_except(without, one) for one in view] for view in views]
        is_one_version = self.sides[0].side.dialect is self.sides[1].side.dialect
        if len(views) > 1 and not is_one_version and not any(self._changed(*rows[0])):
            # lines that both servers have end the request under one version alone
            ending = [[x for x in lines if _ENDING.fullmatch(x.name)] for lines in rows[0]]
            if any(ending):
                return Cause(_shown(ending[0]), _shown(ending[1]))
        for keeps_all in (False, True)[: 1 + is_one_version]:
            for old, new in rows:
                changed = self._changed(old, new)
                remaining = [[x for x in lines if keeps_all or _concerns(difference, x)] for lines in changed]
                if any(remaining):
                    overrides = self._overrides(scopes, remaining)
                    return self.of_lines(*([*a, *b] for a, b in zip(overrides, remaining, strict=True)))
        old, new = rows[-1]
        ordered = list(map(self.key_of, old)), list(map(self.key_of, new))
        if ordered[0] != ordered[1]:
            keys = set(ordered[0]) & set(ordered[1])
            remaining = [
                [x for x in lines if self.key_of(x) in keys and _concerns(difference, x)]
                for lines in (old, new)
            ]
            if any(remaining):
                return Cause(_shown(remaining[0]), _shown(remaining[1]))
        remaining = [[x for x in reversed(lines) if _concerns(difference, x)] for lines in (old, new)]
        return Cause(_shown(remaining[0]), _shown(remaining[1]))

    def of_lines(self, old: list[ConfigLine], new: list[ConfigLine]) -> Cause:
        """Return the cause of which these are the differing lines, with what the other side has for them."""
        found = [_shown(old, self._places[1]), _shown(new, self._places[0])]
        for number, row in enumerate((old, new)):
            for line in row[:MAX_LINES]:
                found[1 - number] = (*found[1 - number], *self.texts.in_place_of(line))
        return Cause(*_distinct(found[0], found[1]))

    def differing_section(self, number: int, scope: LineScope) -> LineScope | None:
        """Return the section *scope* of side *number* if the other side has another one for it, or none."""
        if scope.kind not in SECTIONS or not self._places[1 - number].lacks(scope):
            return None
        return scope

    def lines_where(
        self, plans: PlanPair, servers: tuple[ServerKey, ServerKey], is_wanted: Callable[[ConfigLine], bool]
    ) -> Cause:
        """Return the lines of both sides under *plans* for which *is_wanted* returns True."""
        scopes = [self.scopes(*one) for one in zip(self.sides, plans, servers, strict=True)]
        old, new = (_shown([line for line in _flat(row) if is_wanted(line)]) for row in scopes)
        return Cause(old, new)

    def host_cause(self, servers: tuple[ServerKey, ServerKey]) -> Cause | None:
        """Return the virtual hosts as the cause if both sides choose hosts with other names, else None.

        *servers*: location of the virtual host on each side, ("", 0) for the main server.
        """
        scopes = [lines.hosts.get(key) for lines, key in zip(self.sides, servers, strict=True)]
        old, new = scopes
        if old is None or new is None or _host_name(old) == _host_name(new):
            return None
        names = {_host_name(old), _host_name(new)}
        differing = (
            _shown([line for line in lines if _host_name(line.scope) in names])
            for lines in self._host_names()
        )
        found = [(*_host_lines(scope), *lines) for scope, lines in zip((old, new), differing, strict=True)]
        cause = Cause(*_distinct(found[0], found[1]))
        return self._with_roots(cause, [[old], [new]], re.compile("|".join(_NAMES)))

    def _host_names(self) -> tuple[list[ConfigLine], list[ConfigLine]]:
        """Return the lines with names of virtual hosts that the other side does not have."""
        if self._names is None:
            old, new = (
                [line for scope in lines.hosts.values() for line in scope.lines if line.name in _NAMES]
                for lines in self.sides
            )
            self._names = self._changed(old, new)
        return self._names

    def refused_cause(self, answers: tuple[Answer, Answer]) -> Cause | None:
        """Return the line of a .htaccess file that made one of *answers* a 500, None if no line did."""
        found = [self._refused(lines, answer) for lines, answer in zip(self.sides, answers, strict=True)]
        if not any(found) or answers[0].status == answers[1].status:
            return None
        return self._with_roots(Cause(found[0], found[1]), [[], []], re.compile("|".join(_READING)))

    def _refused(self, lines: SideLines, answer: Answer) -> tuple[DecidingLine, ...]:
        matches = map(REFUSED_LINE.match, answer.log if answer.status == 500 else ())
        for path, name in (match.groups() for match in matches if match is not None):
            place = lines.side.loaded.disk.openable(path)
            scopes = [scope for scope in lines.scopes if scope.path == place]
            wanted = name.lower()
            for line in _flat(scopes) if any(scope.kind == "htaccess" for scope in scopes) else ():
                if line.name == wanted:
                    return _shown([line])
        return ()

    def _changed(
        self, old: list[ConfigLine], new: list[ConfigLine]
    ) -> tuple[list[ConfigLine], list[ConfigLine]]:
        """Return the lines of both sides that the other side does not have as often."""
        key = self.key_of
        seen_old = Counter(map(key, old))
        seen_new = Counter(map(key, new))
        return (
            [line for line in old if seen_old[key(line)] != seen_new[key(line)]],
            [line for line in new if seen_old[key(line)] != seen_new[key(line)]],
        )

    def _overrides(
        self, scopes: list[list[LineScope]], causes: list[list[ConfigLine]]
    ) -> tuple[list[ConfigLine], list[ConfigLine]]:
        """Return the differing lines that decide which .htaccess files are read, if only one side reads the
        file of a cause."""
        read = [{scope.path for scope in one if scope.kind == "htaccess"} for one in scopes]
        if not any(line.path in read[0] ^ read[1] for lines in causes for line in lines):
            return ([], [])
        old, new = ([line for line in _flat(one) if line.name in _READING] for one in scopes)
        return self._changed(old, new)

    def concerned(
        self,
        difference: Difference,
        plans: PlanPair,
        *,
        servers: tuple[ServerKey, ServerKey] = (_MAIN, _MAIN),
        has_equal_access: bool = False,
    ) -> Iterator[tuple[list[ConfigLine], list[ConfigLine]]]:
        """Yield the lines of both sides that decide the first parts of *difference* by their directives, then
        all others but those without which nothing is served. The arguments are those of `cause`.
        """
        without = _without_effect(difference, plans, has_equal_access)
        scopes = [self.scopes(*one) for one in zip(self.sides, plans, servers, strict=True)]
        old, new = (_lines_except(without, one) for one in scopes)
        yield [x for x in old if _concerns(difference, x)], [x for x in new if _concerns(difference, x)]
        yield (
            [x for x in old if not (_concerns(difference, x) or _SERVING.fullmatch(x.name))],
            [x for x in new if not (_concerns(difference, x) or _SERVING.fullmatch(x.name))],
        )

    def key_of(self, line: ConfigLine) -> LineKey:
        """Return what is equal for the same line of both sides."""
        known = self._keys.get(line)
        if known is None:
            known = _key(line)
            self._keys[line] = known
        return known

    def scopes(self, lines: SideLines, plan: Plan | None, server: ServerKey = _MAIN) -> list[LineScope]:
        """Return the scopes whose lines *plan* has: the servers, then sections in the order of merging.

        An answer without a plan has the lines of *server*.
        """
        found = [lines.main]
        host = lines.hosts.get(server if plan is None else key_of(plan.server_rec))
        if host is not None and host is not lines.main:
            found.append(host)
        if plan is None:
            return found
        cache = plan.cache
        layers = cache.layers_of(plan) if isinstance(cache, ProbePlanCache) else plan.layers
        for layer in layers:
            place = layer.place
            scope = lines.at(place.path, place.line) if place is not None else None
            if scope is not None:
                found.append(scope)
        return found


def _without_effect(
    difference: Difference, plans: tuple[Plan | None, Plan | None], has_equal_access: bool
) -> re.Pattern[str]:
    """Return the names of directives whose lines differ, but not their effect on *difference*."""
    names = [_CONTROL] if has_equal_access else []
    if difference.names[:1] == ("status",):
        names.append(_NEVER_STATUS)
    values = {plan.core.options.value for plan in plans if plan is not None}
    if None not in plans and len(values) == 1:
        names.append("options")
    return re.compile("|".join(names) or r"(?!)")


def _family(name: str) -> str:
    return next(directives for pattern, directives in _FAMILIES if re.fullmatch(pattern, name))


def _wanted(difference: Difference, *more: str) -> re.Pattern[str]:
    """Return the names of directives that the first parts of *difference* depend on, and *more*."""
    return re.compile(_pattern(difference.names[:2], more))


@lru_cache(maxsize=1024)
def _pattern(parts: tuple[str, ...], more: tuple[str, ...]) -> str:
    return "|".join(f"(?:{one})" for one in (*map(_family, parts), *more))


def _host_name(scope: LineScope) -> str:
    """Return the ServerName of a virtual host, its addresses without one; "" for the main server."""
    if not scope.path:
        return ""
    named = next((line for line in scope.lines if line.name == "servername"), None)
    return " ".join(named.words()).lower() if named is not None else scope.args


def _host_lines(scope: LineScope) -> tuple[DecidingLine, ...]:
    if not scope.path:
        return ()
    opening = f"<VirtualHost {scope.args.rstrip('> ')}>"
    names = [line for line in scope.lines if line.name == "servername"][:1]
    return (DecidingLine(scope.path, scope.line, opening, "section"), *_shown(names))


def _concerns(difference: Difference, line: ConfigLine) -> bool:
    """Return True if the first parts of *difference* may depend on the line: by the name of the directive, or
    by the form of an Options line with MultiViews. A Header line is about its own field."""
    wanted = _wanted(difference)
    if line.name == "header" and not _has_field(line, difference.names[:2]):
        return False
    has_multiviews = line.name == "options" and "multiviews" in line.args.lower()
    return bool(wanted.fullmatch(line.name)) or (
        has_multiviews and bool(wanted.fullmatch("options (multiviews)"))
    )


def _has_field(line: ConfigLine, names: tuple[str, ...]) -> bool:
    words = [word.lower().rstrip(":") for word in line.words()]
    at = 2 if words[:1] in (["always"], ["onsuccess"]) else 1
    return words[at : at + 1] == ["*"] or not set(names).isdisjoint(words[at : at + 1])


def _lines_except(without: re.Pattern[str], scopes: Iterable[LineScope]) -> list[ConfigLine]:
    return [line for line in _flat(scopes) if not without.fullmatch(line.name)]


def _flat(scopes: Iterable[LineScope]) -> Iterable[ConfigLine]:
    for scope in scopes:
        yield from scope.lines


def _key(line: ConfigLine) -> LineKey:
    kind = "" if line.scope.kind == "server" else f"{line.scope.kind} {line.scope.args}"
    return (line.name, " ".join(line.args.split()).strip('"'), kind if line.scope.kind != "htaccess" else "")


class _Places:
    """The sections of one side, and its lines with and without their section."""

    def __init__(self, lines: SideLines, key: Callable[[ConfigLine], LineKey]) -> None:
        self._key = key
        self._sections = {(scope.kind, scope.args) for scope in lines.scopes}
        self._keys = {key(line) for line in _flat(lines.scopes)}
        self._texts = {key[:2] for key in self._keys}

    def differ_from(self, line: ConfigLine) -> bool:
        """Return True if the side has not the section of *line*, or has the line in other sections alone."""
        key = self._key(line)
        has_moved = key[:2] in self._texts and key not in self._keys
        return has_moved or self.lacks(line.scope)

    def lacks(self, scope: LineScope) -> bool:
        """Return True if the side has not the section."""
        return (scope.kind, scope.args) not in self._sections


def _shown(lines: list[ConfigLine], other: _Places | None = None) -> tuple[DecidingLine, ...]:
    """Return the lines as a cause, those of a section that the *other* side lacks after its opening line."""
    found: dict[DecidingLine, None] = {}
    for line in dict.fromkeys(lines[:MAX_LINES]):
        scope = line.scope
        if other is not None and scope.kind in SECTIONS and other.differ_from(line):
            found[shown(scope)] = None
        found[shown(line)] = None
    return tuple(found)
