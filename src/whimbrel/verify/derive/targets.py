"""Request targets that reach the lines of a configuration, and what exists in the document tree."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from whimbrel.access.joint_names import JointNames, NamePattern
from whimbrel.access.layers import is_access_directive
from whimbrel.access.samples import regex_samples, wildcard_samples
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.http.syntax.url import escape_uri
from whimbrel.verify.config_lines import ConfigLine, LineScope, ServedPaths, SideLines
from whimbrel.verify.derive.conditions import condition_facts, facts_of_line, failing_facts
from whimbrel.verify.derive.facts import Facts, distinct
from whimbrel.verify.named_files import with_keys

NEUTRAL: Final = "whimbrel-probe"
"""A name that no section matches and no directory has."""
_QUERY: Final = Facts(query=NEUTRAL)
_OF_QUERIES: Final = frozenset(("qsa", "qsappend", "qsd", "qsdiscard", "qslast", "qsl"))
"""Flags of RewriteRule about the query of the request."""
_MAX_SAMPLES: Final = 4
_MAX_URLS: Final = 3
"""The URLs of one directory below which existing files are asked."""
_MAX_OF_CONDITIONS: Final = 8
"""Requests for each rule of which some conditions hold, beyond those of its first text."""
_LANGUAGES: Final = frozenset(("addlanguage", "languagepriority", "forcelanguagepriority", "defaultlanguage"))
UNKNOWN_LANGUAGE: Final = "i-klingon"
_PREFIXED: Final = frozenset(
    ("alias", "scriptalias", "wsgiscriptalias", "proxypass", "redirecttemp", "redirectpermanent")
)
_PATTERNED: Final = frozenset(("aliasmatch", "scriptaliasmatch", "wsgiscriptaliasmatch", "proxypassmatch"))
_FILES: Final = frozenset(("files", "filesmatch"))
_IN_URL: Final = "url"
_IN_PATH: Final = "path"
_PROTECTED_NAMES: Final = (".htaccess", ".htpasswd")
"""Files that sections for names of a kind protect on most servers."""
_WITH_PATHS: Final = _FILES | {
    "server",
    "location",
    "locationmatch",
    "directory",
    "directorymatch",
    "htaccess",
}


@dataclass(frozen=True, slots=True)
class TargetCandidate:
    """A target, with what else a request needs to reach a line; *is_exact*: the facts belong to this target
    alone."""

    target: str
    facts: Facts = Facts()
    is_exact: bool = False


class Targets:
    """The candidates of one server on one side; *keys* of maps become parts of them.

    Attributes:
        is_cut: not every set of patterns that a name can match has a name.
    """

    def __init__(
        self, lines: SideLines, served: ServedPaths, keys: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.lines = lines
        self.served = served
        self.keys = keys or {}
        self.is_cut = False

    def of_scopes(
        self, scopes: Iterable[LineScope], *, with_documents: bool = True
    ) -> Iterator[TargetCandidate]:
        """Yield candidates of *scopes*: of the sections themselves, then of their lines.

        *with_documents*: also of the documents of each directory, which may be many.
        """
        for scope in scopes:
            bases = list(dict.fromkeys(self.bases(scope)))[:_MAX_SAMPLES]
            if scope.kind != "server":
                for base in bases:
                    yield from map(TargetCandidate, self._around(scope, base))
            yield from self._of_lines(scope, bases, with_documents=with_documents)

    def facts_of(self, scopes: Iterable[LineScope]) -> Iterator[tuple[Facts, tuple[str, ...]]]:
        """Yield facts of conditions in *scopes*, each with the URL prefixes that they matter for."""
        for scope in scopes:
            bases = tuple(dict.fromkeys(self.bases(scope)))[:_MAX_SAMPLES]
            found: list[Facts] = []
            if scope.kind in ("if", "elseif"):
                found += facts_of_line(ConfigLine("if", scope.args, scope.path, scope.line, scope))
            for line in scope.lines:
                if line.name not in ("rewritecond", "rewriterule"):
                    found += facts_of_line(line)
            for facts in distinct(found):
                yield facts, bases

    def of_guarded_names(self, scopes: Iterable[LineScope], joint: JointNames) -> Iterator[str]:
        """Yield names of <Files> sections about access below each directory with lines about access.

        They are names that one section matches, and one for each set of patterns that a name can match.
        """
        names: dict[str, None] = {}
        bases: dict[str, None] = {}
        for scope in scopes:
            if not any(is_access_directive(line.name) for line in scope.lines):
                continue
            if scope.kind in _FILES:
                is_regex = scope.kind == "filesmatch" or scope.args.lstrip().startswith("~")
                for word in ConfigLine("", scope.args, "", 0, scope).words()[-1:]:
                    texts = _texts(word, is_regex, by_segment=False)
                    # a file that servers have says more than the shortest text that matches
                    named = [name for name in _PROTECTED_NAMES if _matches(word, name, is_regex=is_regex)]
                    found = (text.rpartition("/")[2] for text in texts)
                    names.update(dict.fromkeys((*named, *found)))
            elif scope.kind in _WITH_PATHS:
                bases.update(dict.fromkeys(islice(self.bases(scope), _MAX_SAMPLES)))
        for base in bases:
            url = base.rstrip("/") + "/"
            before = {_IN_URL: url, _IN_PATH: self.served.path_of(url)}
            more = joint.of(before, [*names, NEUTRAL]) if len(joint.patterns) > 1 else ()
            yield from (f"{url}{escape_uri(name)}" for name in (*names, *more) if name)
        self.is_cut = not joint.is_complete

    # sections ---------------------------------------------------------------------------------------
    def bases(self, scope: LineScope | None) -> Iterator[str]:
        """Yield URL paths to which *scope* applies."""
        while scope is not None and scope.kind not in _WITH_PATHS:
            scope = scope.outer
        if scope is None or scope.kind == "server":
            yield "/"
            return
        words = [word for word in ConfigLine("", scope.args, "", 0, scope).words() if word]
        is_regex = scope.kind.endswith("match") or words[:1] == ["~"]
        argument = words[-1] if words else ""
        if scope.kind in ("location", "locationmatch"):
            for text in _texts(argument, is_regex, by_segment=True):
                yield "/" + text.lstrip("/")
        elif scope.kind in ("directory", "directorymatch", "htaccess"):
            argument = scope.args if scope.kind == "htaccess" else argument
            for path in self._paths(argument, is_regex):
                yield from map(escape_uri, self.served.urls_of(path))
        else:
            for base in self.bases(scope.outer):
                for name in _texts(argument, is_regex, by_segment=False):
                    yield base.rstrip("/") + "/" + escape_uri(name.rpartition("/")[2])

    def _paths(self, argument: str, is_regex: bool) -> Iterator[str]:
        """Yield directories, existing ones first, that an argument of <Directory> matches."""
        if not is_regex and not any(char in argument for char in "*?["):
            path = argument.rstrip("/") + "/"
            yield path
            if path == "/" or any(top.startswith(path) for top in self.served.tops):
                yield from (top for top in self.served.tops if top.startswith(path))
            return
        texts = _texts(argument, is_regex, by_segment=True)
        if is_regex:
            try:
                search = re.compile(argument).search
            except re.error:
                return
            yield from [d for d in self.lines.directories if search(d.rstrip("/")) or search(d)][
                :_MAX_SAMPLES
            ]
            for text in texts:
                inside = any(text.startswith(top) for top in self.served.tops)
                yield text if inside else self.served.root.rstrip("/") + "/" + text.strip("/") + "/"
            return
        yield from (text.rstrip("/") + "/" for text in texts)

    def _around(self, scope: LineScope, base: str) -> Iterator[str]:
        yield base
        if scope.kind in _FILES:
            yield base + "/" + NEUTRAL  # path info
            return
        if scope.kind.endswith("match"):
            return
        yield base.rstrip("/") + "/"
        yield base.rstrip("/") + "/" + NEUTRAL
        if scope.kind == "location" and base != "/":
            yield base.rstrip("/") + NEUTRAL

    # lines ------------------------------------------------------------------------------------------
    def _of_lines(
        self, scope: LineScope, bases: list[str], *, with_documents: bool
    ) -> Iterator[TargetCandidate]:
        conditions: list[ConditionFacts] = []
        before: RuleSample | None = None
        for line in scope.lines:
            if line.name == "rewritecond":
                conditions.append(_condition_of(line))
            elif line.name == "rewriterule":
                yield from self._rule(line, bases, conditions)
                rule = _sample_of(line, conditions)
                if before is not None and rule is not None:
                    yield from _of_both(before, rule, bases)
                before = rule
                conditions = []
            else:
                yield from map(TargetCandidate, self._of_line(line, bases))
                if with_documents:
                    yield from self._negotiated(line)

    def _rule(
        self, line: ConfigLine, bases: list[str], conditions: list[ConditionFacts]
    ) -> Iterator[TargetCandidate]:
        """Yield requests that the rule matches: with all conditions, with none, and with some of them."""
        words = line.words()
        if not words:
            return
        texts = rule_texts(words[0].lstrip("!"), _MAX_SAMPLES) or [""]
        if self.keys and len(words) > 1 and "${" in words[1]:
            texts += with_keys(words[1], words[0], texts[0], self.keys)
        for base in bases:
            for text in texts:
                target = _joined(base, text)
                for number in range(max([1, *(len(one.holding) for one in conditions)])):
                    facts = _joined_facts(one.holding[number % len(one.holding)] for one in conditions)
                    yield TargetCandidate(target, facts, True)
                if conditions:
                    yield TargetCandidate(target)
            if _treats_queries(words):
                facts = _QUERY.joined(_joined_facts(one.holding[0] for one in conditions))
                yield TargetCandidate(_joined(base, texts[0]), facts, True)
        marked = next(_with_question_mark(words, texts), "")
        if marked:
            facts = _joined_facts(one.holding[0] for one in conditions)
            yield from (TargetCandidate(_joined(base, marked), facts, True) for base in bases)
        if conditions:
            for text in texts[: max(1, _MAX_OF_CONDITIONS // len(conditions))]:
                for facts in _partly_holding(conditions):
                    yield TargetCandidate(_joined(next(iter(bases), "/"), text), facts, True)

    def _negotiated(self, line: ConfigLine) -> Iterator[TargetCandidate]:
        """Yield names without extensions: in the language of AddLanguage, and in one that no file has."""
        words = line.words()
        if line.name not in _LANGUAGES or not words or not self.lines.has_multiviews:
            return
        language = words[0] if line.name == "addlanguage" else UNKNOWN_LANGUAGE
        facts = Facts(fields=(("Accept-Language", language),))
        for directory, names in self.lines.directories.items():
            for url in self.served.urls_of(directory)[:1]:
                for stem in _most_varied(names):
                    yield TargetCandidate(escape_uri(url.rstrip("/") + "/" + stem), facts, True)

    def _of_line(self, line: ConfigLine, bases: list[str]) -> Iterator[str]:
        words = line.words()
        name = line.name
        if name in _PREFIXED or name in ("redirect", "redirectmatch"):
            paths = [word for word in words[:2] if word.startswith(("/", "^"))] if words else []
            if line.scope.kind != "server" and name == "proxypass":
                paths = bases
            for path in paths[:1]:
                if name == "redirectmatch":
                    yield from ("/" + text.lstrip("/") for text in regex_samples(path)[:_MAX_SAMPLES])
                else:
                    yield from (
                        path,
                        path.rstrip("/") + "/",
                        path.rstrip("/") + "/" + NEUTRAL,
                        path + NEUTRAL,
                    )
                    yield from self._existing(path)
            if name == "redirectmatch" and not paths and len(words) > 1:
                yield from ("/" + text.lstrip("/") for text in regex_samples(words[-2])[:_MAX_SAMPLES])
        elif name in _PATTERNED and words:
            yield from ("/" + text.lstrip("/") for text in regex_samples(words[0])[:_MAX_SAMPLES])
        elif name == "serverpath" and words:
            # the core takes it off a path before it looks below DocumentRoot, whatever the Host field is
            names = self.lines.directories.get(self.served.root.rstrip("/") + "/", ())
            for file in ("", *names[:_MAX_SAMPLES]):
                yield f"{words[0].rstrip('/')}/{escape_uri(file)}"
        elif name == "directoryindex":
            yield from (base.rstrip("/") + "/" + word.lstrip("/") for base in bases for word in words[:4])
        elif name == "userdir":
            for user in _users_of(words, self.lines.side.loaded.disk):
                yield f"/~{user}/"
                yield f"/~{user}/{NEUTRAL}"
                yield from self._in_home(words, user)
        elif name in ("setenvif", "setenvifnocase") and words and words[0].lower() == "request_uri":
            yield from ("/" + text.lstrip("/") for text in regex_samples(words[1])[:_MAX_SAMPLES])
        elif name in ("addtype", "addhandler", "addencoding", "addlanguage", "addcharset", "addoutputfilter"):
            yield from self._with_extension(words[1:], bases)
        elif name in ("fallbackresource", "errordocument") and words and words[-1].startswith("/"):
            yield words[-1]

    def _in_home(self, words: list[str], user: str) -> Iterator[str]:
        """Yield targets of files in the directories that UserDir gives *user*."""
        for word in words:
            if word.startswith("/"):
                directory = word.replace("*", user) if "*" in word else f"{word}/{user}"
                names = self.lines.side.loaded.disk.names_in(directory)
                for name in [name for name in names if name[0] != "."][:_MAX_SAMPLES]:
                    yield f"/~{user}/{escape_uri(name)}"

    def _existing(self, url: str) -> Iterator[str]:
        for prefix, target in self.served.aliases:
            if prefix.rstrip("/") == url.rstrip("/"):
                for name in self.lines.directories.get(target, ())[:_MAX_SAMPLES]:
                    yield prefix + escape_uri(name)

    def _with_extension(self, extensions: list[str], bases: list[str]) -> Iterator[str]:
        for extension in extensions[:_MAX_SAMPLES]:
            suffix = "." + extension.lstrip(".")
            found = self._file_with(suffix)
            if found:
                yield found
            yield from (base.rstrip("/") + f"/{NEUTRAL}{suffix}" for base in bases[:1])

    def _file_with(self, suffix: str) -> str:
        for directory, names in self.lines.directories.items():
            for name in names:
                if name.endswith(suffix):
                    urls = self.served.urls_of(directory + name)
                    if urls:
                        return escape_uri(urls[0])
        return ""

    # the document tree ------------------------------------------------------------------------------
    def of_directories(self) -> Iterator[str]:
        """Yield targets of directories without their slash, to which mod_dir redirects."""
        for top in self.served.tops:
            for directory in self.lines.directories:
                urls = self.served.urls_of(directory) if directory.startswith(top) else []
                yield from (escape_uri(url.rstrip("/")) for url in urls[:1] if url.rstrip("/"))

    def of_tree(self, limit: int) -> Iterator[str]:
        """Yield up to *limit* targets of what exists: directories, and a file of each extension in them."""
        count = 0
        for top in self.served.tops:
            for directory, names in self.lines.directories.items():
                if not directory.startswith(top):
                    continue
                # of a directory with an Alias of its own: other <Location> sections apply below each URL
                for url in self.served.urls_of(directory)[:_MAX_URLS]:
                    if url.rstrip("/"):
                        yield escape_uri(url.rstrip("/"))  # mod_dir adds the slash
                    stems = _stems(names) if self.lines.has_multiviews else []
                    for name in ("", *_sample(names), *stems, NEUTRAL):
                        yield escape_uri(url.rstrip("/") + "/" + name)
                        if name.endswith(".map"):  # a point of an image map
                            yield escape_uri(url.rstrip("/") + "/" + name) + "?99,99"
                        count += 1
                if count >= limit:
                    return


def rule_texts(pattern: str, limit: int) -> list[str]:
    """Return up to *limit* texts that the pattern of a rule matches, and one that goes on with a name that
    nothing has: what answers to the others may hide the rule."""
    samples = regex_samples(pattern)[:limit]
    with contextlib.suppress(re.error):
        search = re.compile(pattern).search
        samples += [text for text in (one + NEUTRAL for one in samples[:1]) if search(text)]
    return samples


@dataclass(frozen=True, slots=True)
class RuleSample:
    """Texts that a RewriteRule matches, and a request for which its conditions hold."""

    texts: tuple[str, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class ConditionFacts:
    """Facts under which a RewriteCond holds, each alone, and facts under which it does not."""

    holding: tuple[Facts, ...]
    failing: Facts


def _condition_of(line: ConfigLine) -> ConditionFacts:
    words = line.words()
    if len(words) < 2:
        return ConditionFacts((Facts(),), Facts())
    return ConditionFacts(tuple(condition_facts(words[0], words[1])), failing_facts(words[0], words[1]))


def _joined_facts(found: Iterable[Facts]) -> Facts:
    facts = Facts()
    for one in found:
        facts = facts.joined(one)
    return facts


def _partly_holding(conditions: list[ConditionFacts]) -> Iterator[Facts]:
    """Yield facts under which each condition alone holds, and under which each alone does not.

    They tell conditions of which one suffices from conditions of which all are needed.
    """
    for chosen in conditions:
        yield _joined_facts(one.holding[0] if one is chosen else one.failing for one in conditions)
        yield _joined_facts(one.failing if one is chosen else one.holding[0] for one in conditions)


def _sample_of(line: ConfigLine, conditions: list[ConditionFacts]) -> RuleSample | None:
    words = line.words()
    if not words or words[0].startswith("!"):
        return None
    facts = _joined_facts(one.holding[0] for one in conditions)
    return RuleSample(tuple(regex_samples(words[0])[:2]), facts)


def _of_both(first: RuleSample, second: RuleSample, bases: list[str]) -> Iterator[TargetCandidate]:
    """Yield requests that two neighbouring rules match: their order may matter."""
    facts = first.facts.joined(second.facts)
    for base in bases[:1]:
        for one in first.texts:
            for other in second.texts:
                yield TargetCandidate(_joined(base, one.rstrip("/") + other), facts, True)
                yield TargetCandidate(_joined(base, other.rstrip("/") + one), facts, True)


def _stems(names: list[str]) -> list[str]:
    """Return the names up to their first dot: MultiViews finds their extensions."""
    return list(dict.fromkeys(name.partition(".")[0] for name in names if "." in name[1:]))


def _most_varied(names: list[str]) -> list[str]:
    """Return the stems of the most names, in the order of the directory if they have as many."""
    counts = Counter(name.partition(".")[0] for name in names if "." in name[1:])
    return [stem for stem, _ in counts.most_common(_MAX_SAMPLES)]


def _users_of(words: list[str], disk: CopiedPaths) -> list[str]:
    """Return users that a UserDir line names, and such with a directory that it names."""
    names = [] if words[:1] and words[0].startswith("/") else words[1:]
    for word in words:
        if word.startswith("/"):
            before, star, _ = word.partition("*")
            directory = before.rpartition("/")[0] if star else word
            names += disk.names_in(directory)
    return [name for name in dict.fromkeys([*names, "root", NEUTRAL]) if "/" not in name][:8]


def _sample(names: list[str]) -> Iterator[str]:
    """Yield one name of each extension, and all of the first twelve."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        extension = name.partition(".")[2] if "." in name else ""
        if number < 12 or extension not in seen:
            seen.add(extension)
            yield name


def _texts(argument: str, is_regex: bool, *, by_segment: bool) -> list[str]:
    if is_regex:
        return regex_samples(argument)[:_MAX_SAMPLES]
    if any(char in argument for char in "*?["):
        return wildcard_samples(argument, by_segment=by_segment)[:_MAX_SAMPLES]
    return [argument]


def _matches(argument: str, name: str, *, is_regex: bool) -> bool:
    """Return True if the pattern of a <Files> or <FilesMatch> has *name*; False for one that does not
    compile."""
    try:
        regex = compile_regex(argument) if is_regex else compile_fnmatch(argument)
    except RegexError:
        return False
    return regex.search(name) is not None


def name_patterns(scopes: Iterable[LineScope]) -> Iterator[NamePattern]:
    """Yield the patterns of sections about access that match names of files."""
    for scope in scopes:
        if any(is_access_directive(line.name) for line in scope.lines):
            yield from _name_patterns(scope)


def _name_patterns(scope: LineScope) -> Iterator[NamePattern]:
    """Yield the pattern of a section that matches names of files; none if it has one name or path."""
    words = [word for word in ConfigLine("", scope.args, "", 0, scope).words() if word]
    if not words:
        return
    argument = words[-1]
    is_regex = scope.kind.endswith("match") or words[0] == "~"
    try:
        if scope.kind in _FILES:
            if is_regex or any(char in argument for char in "*?["):
                yield NamePattern(compile_regex(argument) if is_regex else compile_fnmatch(argument))
        elif scope.kind in ("location", "locationmatch"):
            if is_regex or any(char in argument for char in "*?["):
                regex = compile_regex(argument) if is_regex else compile_fnmatch(argument, by_segment=True)
                yield NamePattern(regex, _IN_URL)
        elif scope.kind in ("directory", "directorymatch") and is_regex:
            yield NamePattern(compile_regex(argument), _IN_PATH)
    except RegexError:
        return


def _joined(base: str, text: str) -> str:
    """Return the URL of a text that a rule matches below *base*; blanks and the like are escaped."""
    safe = escape_uri("/" + text.lstrip("/")) if to_bytes(text).isascii() else "/"
    return safe if base == "/" else base.rstrip("/") + safe


def _with_question_mark(words: list[str], texts: Iterable[str]) -> Iterator[str]:
    """Yield texts with a question mark that the pattern matches and that enters the substitution.

    2.4.60 refuses the URL of such a text (``%3f``), and 2.2 makes a query of what is behind it.
    """
    substitution = words[1] if len(words) > 1 else ""
    groups = {int(number) for number in re.findall(r"\$(\d)", substitution)}
    if words[0].startswith("!") or not (groups or "%" in substitution):
        return
    try:
        pattern = re.compile(words[0])
    except re.error:
        return
    for text in texts:
        for at in range(len(text), -1, -1):
            for part in ("?x", "?"):
                marked = text[:at] + part + text[at:]
                found = pattern.search(marked)
                if found is None:
                    continue
                entering = [found[number] or "" for number in groups if number <= pattern.groups]
                if any("?" in one for one in entering) or not groups:
                    yield marked


def _treats_queries(words: list[str]) -> bool:
    """Return True if the words of a RewriteRule say what becomes of the query of a request."""
    flags = {flag.strip().lower() for flag in words[2].strip("[]").split(",")} if len(words) > 2 else set()
    return len(words) > 1 and ("?" in words[1] or not flags.isdisjoint(_OF_QUERIES))
