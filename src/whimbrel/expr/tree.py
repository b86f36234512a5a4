"""Syntax tree of expressions.  Names are resolved: nodes hold the implementation of a variable, function or
operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex
    from whimbrel.expr.library import BinaryOperator, ExprFunction, ExprVariable, ListFunction, UnaryOperator


# words --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Text:
    """A constant; *quoted*: written as a string, not as digits."""

    value: str
    quoted: bool = True


@dataclass(frozen=True, slots=True)
class Var:
    """``%{NAME}``."""

    variable: ExprVariable


@dataclass(frozen=True, slots=True)
class Call:
    """``name(word)`` or ``%{name:string}``; *name* as written."""

    name: str
    function: ExprFunction
    argument: Word


@dataclass(frozen=True, slots=True)
class Backref:
    """``$0`` to ``$9``."""

    number: int


@dataclass(frozen=True, slots=True)
class Join:
    """Words joined by ``.``, or the pieces of a string."""

    parts: tuple[Word, ...]


Word = Text | Var | Call | Backref | Join


@dataclass(frozen=True, slots=True)
class ListCall:
    """A function that returns a list, after ``in``."""

    name: str
    function: ListFunction
    argument: Word


# conditions ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Constant:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """``!``."""

    inner: TestNode


@dataclass(frozen=True, slots=True)
class Both:
    """``&&``."""

    left: TestNode
    right: TestNode


@dataclass(frozen=True, slots=True)
class Either:
    """``||``."""

    left: TestNode
    right: TestNode


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison; *token* is the operator's token name."""

    token: str
    left: Word
    right: Word


@dataclass(frozen=True, slots=True)
class Match:
    """``=~``, or ``!~`` where *negated*."""

    word: Word
    regex: Regex
    negated: bool


@dataclass(frozen=True, slots=True)
class Member:
    """``in``."""

    word: Word
    among: tuple[Word, ...] | ListCall


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before a word; *data* is the result of its `prepare` for a constant word."""

    operator: UnaryOperator
    word: Word
    data: object = None


@dataclass(frozen=True, slots=True)
class Binary:
    """A named operator between words; *data* is the result of its `prepare` for a constant second word."""

    operator: BinaryOperator
    left: Word
    right: Word
    data: object = None


TestNode = Constant | Not | Both | Either | Compare | Match | Member | Unary | Binary
