"""Records of the rewriting directives: rules, conditions, maps, and their merging.

Manual: mod/mod_rewrite.html, rewrite/htaccess.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntFlag
from typing import Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.regex import Regex
from whimbrel.registry.settings import UNSET, setting

MAX_ROUNDS: Final = 32000


class RewriteOptions(IntFlag):
    """RewriteOptions."""

    NONE = 0
    INHERIT = 1
    INHERIT_BEFORE = 2
    NO_SLASH = 4
    ANY_URI = 8
    MERGE_BASE = 16
    INHERIT_DOWN = 32
    INHERIT_DOWN_BEFORE = 64
    IGNORE_INHERIT = 128
    IGNORE_CONTEXT = 256
    LEGACY_PREFIX = 512
    UNSAFE_PREFIX = 1024
    UNSAFE_3F = 2048


class Flag:
    """Flags of a rule, plain integer bits: each matching rule tests a dozen of them."""

    NONE: Final = 0
    FORCE_REDIRECT: Final = 1
    LAST: Final = 2
    END: Final = 4
    NEXT: Final = 8
    CHAIN: Final = 16
    NOT_ON_SUB: Final = 32
    NO_CASE: Final = 64
    PASS_THROUGH: Final = 128
    PROXY: Final = 256
    STATUS: Final = 512
    NO_SUBSTITUTION: Final = 1024
    NEGATED: Final = 2048
    APPEND_QUERY: Final = 4096
    DISCARD_QUERY: Final = 8192
    LAST_QUERY: Final = 16384
    NO_QUERY: Final = 32768
    NO_ESCAPE: Final = 65536
    ESCAPE_BACKREF: Final = 131072
    ESCAPE_NO_PLUS: Final = 262144
    ESCAPE_CONTROLS: Final = 524288
    DISCARD_PATH_INFO: Final = 1048576
    UNSAFE_PREFIX: Final = 2097152
    UNSAFE_3F: Final = 4194304
    UNC: Final = 8388608


class Test(Enum):
    """Operators of a condition's pattern."""

    REGEX = "regular expression"
    EXPRESSION = "expr"
    FILE = "-f"
    DIRECTORY = "-d"
    SIZE = "-s"
    LINK = "-l"
    EXECUTABLE = "-x"
    URL = "-U"
    ACCESSIBLE = "-F"
    STRING_LT = "<"
    STRING_LE = "<="
    STRING_EQ = "="
    STRING_GE = ">="
    STRING_GT = ">"
    INT_LT = "-lt"
    INT_LE = "-le"
    INT_EQ = "-eq"
    INT_GE = "-ge"
    INT_GT = "-gt"


@dataclass(frozen=True, slots=True, eq=False)
class Cond:
    """One RewriteCond.

    *subject* is the test string as written, *written* the pattern as written (for the log), *operand* the
    text after an operator. *expression* is the compiled condition if *test* is EXPRESSION. *place* is that of
    the line, for traces.
    """

    subject: str
    written: str
    test: Test
    operand: str
    negated: bool = False
    or_next: bool = False
    ignore_case: bool = False
    no_vary: bool = False
    regex: Regex | None = None
    expression: Any = None
    place: SourceLocation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One RewriteRule with the conditions before it.

    *pattern* is the expression without ``!``. *written* is the substitution as the log shows it, *output* as
    it is expanded. *status* is the code of the redirect or, under STATUS, of the response. *escapes* and
    *keeps* are the characters of B= and BNE=, None without.
    """

    pattern: str
    regex: Regex
    output: str
    flags: int = Flag.NONE
    status: int = 302
    skip: int = 0
    rounds: int = MAX_ROUNDS
    escapes: str | None = None
    keeps: str | None = None
    forced_type: str | None = None
    forced_handler: str | None = None
    env: tuple[str, ...] = ()
    cookies: tuple[str, ...] = ()
    conds: tuple[Cond, ...] = ()
    place: SourceLocation | None = None


Rules = Sequence[Rule]
"""A list while lines are read, a tuple after merging."""


def _joined(options: int, outer_options: int, outer: Any, inner: Any) -> Any:
    """Merge the rules (or pending conditions) of two layers according to the options of both."""
    if options & RewriteOptions.INHERIT or (
        outer_options & RewriteOptions.INHERIT_DOWN and not options & RewriteOptions.IGNORE_INHERIT
    ):
        return inner + outer
    if options & RewriteOptions.INHERIT_BEFORE or (
        outer_options & RewriteOptions.INHERIT_DOWN_BEFORE and not options & RewriteOptions.IGNORE_INHERIT
    ):
        return outer + inner
    return inner


def _inherits(options: int, outer_options: int) -> bool:
    return bool(
        options & (RewriteOptions.INHERIT | RewriteOptions.INHERIT_BEFORE)
        or (
            outer_options & (RewriteOptions.INHERIT_DOWN | RewriteOptions.INHERIT_DOWN_BEFORE)
            and not options & RewriteOptions.IGNORE_INHERIT
        )
    )


def given(value: object, default: object) -> Any:
    """Return *value*, or *default* if no layer set it."""
    return default if value is UNSET else value


@dataclass(slots=True)
class RewriteDirConfig:
    """Per-directory settings; *directory*: the section's, with a slash at the end, or None."""

    engine: bool = setting(False)
    options: int = setting(0)
    base: str | None = setting(None)
    directory: str | None = setting(None)
    rules: Rules = setting(())
    pending: tuple[Cond, ...] = setting(())

    def merge_onto(self, base: RewriteDirConfig) -> RewriteDirConfig:
        """Merge onto *base*: a layer's rules replace the outer ones, unless an option inherits them."""
        merged = RewriteDirConfig()
        merged.engine = base.engine if self.engine is UNSET else self.engine
        merged.options = base.options if self.options is UNSET else self.options
        options = given(merged.options, 0)
        outer = given(base.options, 0)
        merged.base = base.base if self.base is UNSET and options & RewriteOptions.MERGE_BASE else self.base
        merged.directory = self.directory
        merged.rules = _joined(options, outer, tuple(given(base.rules, ())), tuple(given(self.rules, ())))
        return merged


@dataclass(slots=True)
class RewriteServerConfig:
    """Per-server settings; *virtual* marks the record of a virtual host, which exists with a rewriting
    directive only.

    *log*, *log_level*, *lock* are RewriteLog, RewriteLogLevel and RewriteLock of 2.2; *compiled* caches the
    compiled rules.
    """

    engine: bool = setting(False)
    options: int = setting(0)
    virtual: bool = setting(False)
    maps: dict[str, Any] = setting(make=dict)
    rules: Rules = setting(())
    pending: tuple[Cond, ...] = setting(())
    log: str | None = setting(None)
    log_level: int = setting(0)
    lock: str | None = setting(None)
    compiled: dict[Any, Any] = field(default=UNSET, metadata={"default": None, "make": dict, "merge": None})

    def merge_onto(self, base: RewriteServerConfig) -> RewriteServerConfig:
        """Merge onto *base*: a virtual host inherits rules and maps only by RewriteOptions."""
        merged = RewriteServerConfig()
        merged.engine = base.engine if self.engine is UNSET else self.engine
        merged.options = base.options if self.options is UNSET else self.options
        merged.virtual = self.virtual
        options = given(merged.options, 0)
        outer = given(base.options, 0)
        maps = given(self.maps, {})
        merged.maps = {**given(base.maps, {}), **maps} if _inherits(options, outer) else maps
        merged.rules = _joined(options, outer, tuple(given(base.rules, ())), tuple(given(self.rules, ())))
        merged.log = base.log if self.log is UNSET else self.log
        merged.log_level = base.log_level if self.log_level is UNSET else self.log_level
        return merged
