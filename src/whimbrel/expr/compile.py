"""Expressions made ready when a configuration is read: conditions and strings that are asked with a view of the request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.expr.evaluation import NOTHING_YET, Evaluation

if TYPE_CHECKING:
    from whimbrel.expr.library import Lookup
    from whimbrel.expr.view import View
    from whimbrel.regex import Found

Test = Callable[[Evaluation], bool]
Word = str | Callable[[Evaluation], str]
SPECIAL: Final = frozenset("\\%$\n\0")  # a string without any of these stands for itself


class Condition:
    """A condition ready to be asked.  *reads* says what its answer depends on (the names of `library`), *place* is told when it fails."""

    __slots__ = ("place", "reads", "test", "text")

    def __init__(self, text: str, test: Test, reads: frozenset[str], place: str) -> None:
        self.text, self.test, self.reads, self.place = text, test, reads, place

    def __call__(self, view: View) -> bool:
        """Whether it holds; raises EvalError."""
        return self.test(Evaluation(view))


class StringExpr:
    """A string ready to be made.  *fixed* is the text where nothing in it depends on the request, else None."""

    __slots__ = ("fixed", "place", "reads", "text", "word")

    def __init__(self, text: str, word: Word, reads: frozenset[str], place: str) -> None:
        self.text, self.word, self.reads, self.place = text, word, reads, place
        self.fixed = word if isinstance(word, str) else None

    def __call__(self, view: View, found: Found | None = NOTHING_YET) -> str:
        """The string; *found* gives ``$0`` to ``$9``.  Raises EvalError."""
        word = self.word
        return word if isinstance(word, str) else word(Evaluation(view, found))


def compile_condition(
    text: str, *, restricted: bool = False, in_document: bool = False, lookup: Lookup | None = None, place: str = "",
) -> Condition:
    """The condition *text*; raises ExprError.  *restricted*: in a .htaccess file; *in_document*: in a page; *place* is ``FILE:LINE``."""
    from whimbrel.expr import compiler, parser  # a tenth of -t's time, and most configurations have no expressions

    made = compiler.Compiler()
    parsed = parser.parse_condition(text, restricted=restricted, in_document=in_document, lookup=lookup)
    return Condition(text, made.test(parsed, 1), frozenset(made.reads), place)


def compile_string(text: str, *, restricted: bool = False, lookup: Lookup | None = None, place: str = "") -> StringExpr:
    """The string expression *text*; raises ExprError."""
    if SPECIAL.isdisjoint(text):
        return StringExpr(text, text, frozenset(), place)
    from whimbrel.expr import compiler, parser  # a tenth of -t's time, and most configurations have no expressions

    made = compiler.Compiler()
    return StringExpr(text, made.word(parser.parse_string(text, restricted=restricted, lookup=lookup), 2), frozenset(made.reads), place)
