"""Names available in an expression: variables, functions, lists, operators.

The core's own are in `variables`, `functions` and `operators`.  Modules add theirs as providers of the groups
"expr_variable", "expr_function" and "expr_list" (names of variables in upper case, all others in lower case).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from whimbrel.expr.evaluation import Evaluation

# Inputs of a value, for the response cache.
HEAD: Final = "head"
USER: Final = "user"
CLIENT: Final = "client"
TIME: Final = "time"
FILES: Final = "files"
ENVIRONMENT: Final = "environment"
UNCACHEABLE: Final = "outside"
NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class ExprVariable:
    """``%{NAME}``: *read* returns the value, None for an empty one."""

    read: Callable[[Evaluation], str | None]
    reads: frozenset[str] = frozenset({HEAD})


@dataclass(frozen=True, slots=True)
class ExprFunction:
    """``name(word)``: *call* gets the argument.  *restricted*: undefined in .htaccess files and documents."""

    call: Callable[[Evaluation, str], str | None]
    reads: frozenset[str] = frozenset({HEAD})
    restricted: bool = False


@dataclass(frozen=True, slots=True)
class ListFunction:
    """``in name(word)``."""

    call: Callable[[Evaluation, str], Sequence[str]]
    reads: frozenset[str] = frozenset({HEAD})


@dataclass(frozen=True, slots=True)
class UnaryOperator:
    """``-X word``: *prepare* (text) returns the data that *test* gets instead of the word, which must be
    constant; raises ValueError.

    Operators *about_files* are undefined in documents.
    """

    test: Callable[[Evaluation, Any], bool]
    reads: frozenset[str] = NOTHING
    prepare: Callable[[str], Any] | None = None
    about_files: bool = False


@dataclass(frozen=True, slots=True)
class BinaryOperator:
    """``word -name word``: *prepare* as in UnaryOperator; *pattern* compiles the second word."""

    test: Callable[[Evaluation, str, Any], bool]
    reads: frozenset[str] = NOTHING
    prepare: Callable[[str], Any] | None = None
    pattern: Callable[[str], Any] | None = None


Lookup = Callable[[str, str], Any]
"""Look-up of the object that a module registered under (group, name), or None."""
