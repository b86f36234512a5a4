"""Constructors of argument rules.

In messages ``{0}``, ``{1}`` ... stand for the arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.catalogue.checks.numbers import atoi, strtol, timeout
from whimbrel.syntax.words import getword


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The context of a rule besides the arguments.

    Attributes:
        root: the server root, against which relative paths are resolved
        loaded: the identifiers of the loaded modules
        providers: the authn provider names that <AuthnProviderAlias> and similar sections defined
        is_per_directory: the directive is in a section or a .htaccess file
        in_location: it is in a <Location>
        earlier: the arguments of the line's earlier calls (ITERATE)
        sections: the enclosing containers in lower case (``<directory``), innermost first
        argument: the argument of the innermost container
        declared: names that earlier lines declared, by group ("filter", "authn" ...)
        expression_error: (text, string) to the error in a condition or (True) a string expression, ""
            without one
        openable: path of the text to that of the file on this machine
    """

    version: str = "2.4"
    root: str = "/"
    loaded: frozenset[str] = frozenset()
    providers: AbstractSet[str] = frozenset()
    is_per_directory: bool = False
    in_location: bool = False
    earlier: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    argument: str = ""
    declared: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    expression_error: Callable[[str, bool], str] = lambda text, string: ""
    openable: Callable[[str], str] = str

    def path(self, word: str) -> str:
        """Return the file that *word*, resolved against the server root (ap_server_root_relative), names."""
        return self.openable(self._absolute(word))

    def _absolute(self, word: str) -> str:
        joined = word if word.startswith("/") else f"{self.root.rstrip('/')}/{word}"
        if "//" not in joined and "/." not in joined:
            return joined
        is_directory = joined.endswith(("/", "/.", "/.."))
        clean = "/" + os.path.normpath(joined).lstrip("/")
        return clean + "/" if is_directory and clean != "/" else clean


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """A message about an accepted line; *cause* is an error of the system in APR's wording, *more* are the
    messages after it.
    """

    text: str
    code: str = ""
    level: str = "warn"
    cause: str = ""
    more: tuple[CheckWarning, ...] = ()


Rule = Callable[[list[str], CheckContext], "str | None"]
Warner = Callable[[list[str], CheckContext], "CheckWarning | None"]
Declarer = Callable[[list[str], CheckContext], "list[tuple[str, str]]"]


def fill_words(message: str, words: list[str]) -> str:
    """Return *message* with its arguments filled in."""
    for index, word in enumerate(words):
        message = message.replace(f"{{{index}}}", word)
    return message


def split_args(text: str) -> list[str]:
    """Return the words of a RAW_ARGS text; quoted empty words count."""
    args = []
    at = 0
    while at < len(text):
        word, at = getword(text, at)
        args.append(word)
    return args


def when(test: Callable[[list[str], CheckContext], bool], message: str) -> Rule:
    """Refuse if *test* holds."""
    return lambda words, around: fill_words(message, words) if test(words, around) else None


def always(message: str) -> Rule:
    """Refuse any arguments."""
    return lambda words, around: fill_words(message, words)


def first(*rules: Rule) -> Rule:
    """Return the first message of *rules*."""
    return lambda words, around: next((m for rule in rules if (m := rule(words, around))), None)


def only(version: str, rule: Rule) -> Rule:
    """Apply *rule* in one version."""
    return lambda words, around: rule(words, around) if around.version == version else None


def by_version(rule_22: Rule, rule_24: Rule) -> Rule:
    """Apply *rule_22* in 2.2, *rule_24* in 2.4."""
    return lambda words, around: (rule_22 if around.version == "2.2" else rule_24)(words, around)


def one_of(choices: str, message: str, *, exact: bool = False, at: int = 0) -> Rule:
    """The argument at *at*, if given, is one of *choices* (between blanks), in any case unless *exact*."""
    accepted = frozenset(choices.split() if exact else choices.lower().split())

    def rule(words: list[str], around: CheckContext) -> str | None:
        word = words[at] if len(words) > at else None
        return (
            None
            if word is None or (word if exact else word.lower()) in accepted
            else fill_words(message, words)
        )

    return rule


def in_range(low: int, high: int | None, message: str) -> Rule:
    """The first argument as C's atoi reads it is in the range; *high* None: no limit."""
    return when(
        lambda words, around: not (low <= atoi(words[0]) and (high is None or atoi(words[0]) <= high)),
        message,
    )


def size(low: int, message: str) -> Rule:
    """The first argument begins with a 64-bit number that is at least *low* and not out of range."""
    return when(lambda words, around: strtol(words[0])[0] < low or strtol(words[0])[2], message)


def integer(message: str, low: int = 0) -> Rule:
    """The first argument is a number, at least *low* and in range, without further text."""

    def bad(words: list[str], around: CheckContext) -> bool:
        value, rest, cut = strtol(words[0])
        return rest != "" or cut or value < low

    return when(bad, message)


def duration(message: str) -> Rule:
    """The first argument is a time with or without unit (ap_timeout_parameter_parse)."""
    return when(lambda words, around: timeout(words[0], around.version) is None, message)


def unresolved(name: str) -> str:
    """Return why the host *name* cannot be resolved, as the system words it; "" if it can.  httpd resolves it
    on reading too.
    """
    import socket

    try:
        socket.getaddrinfo(name, None)
    except socket.gaierror as problem:
        return str(problem.strerror)
    except (OSError, UnicodeError):
        return "Name or service not known"
    return ""


def expression(message: str, *, string: bool, at: int = 0) -> Rule:
    """The argument at *at*, if given, is an expression; *message* precedes the error."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        wrong = around.expression_error(words[at], string) if len(words) > at else ""
        return f"{fill_words(message, words)}: {wrong}" if wrong else None

    return rule


def regex(message: str, at: int = 0) -> Rule:
    """The argument at *at* is a valid regular expression."""
    return when(lambda words, around: not compiles(words[at]), message)


def compiles(pattern: str) -> bool:
    """Return True if PCRE compiles *pattern*."""
    try:
        compile_regex(pattern)
    except RegexError:
        return False
    return True


def filled_file(name: str, at: int = 0) -> Rule:
    """The argument at *at* names a readable file that is not empty (ssl_util_path_check)."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        path = around.path(words[at])
        good = os.path.isfile(to_bytes(path)) and os.path.getsize(to_bytes(path)) > 0
        return None if good else f"{name}: file '{path}' does not exist or is empty"

    return rule


def directory(name: str) -> Rule:
    """The first argument names a directory."""

    def refuse_missing(words: list[str], around: CheckContext) -> str | None:
        path = around.path(words[0])
        return None if os.path.isdir(to_bytes(path)) else f"{name}: directory '{path}' does not exist"

    return refuse_missing
