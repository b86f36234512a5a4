"""Expressions compiled when a configuration is read: conditions and strings, evaluated with a view of the
request.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.expr.evaluation import EMPTY_MATCH, MAX_STRING, Evaluation

if TYPE_CHECKING:
    from whimbrel.base.regex import Match
    from whimbrel.expr.library import Lookup
    from whimbrel.expr.view import View

Predicate = Callable[[Evaluation], bool]
Word = str | Callable[[Evaluation], str]
SPECIAL: Final = frozenset("\\%$\n\0")  # a string without any of these is constant


class CompiledCondition:
    """A condition; *reads*: the inputs of its value (`library`); *place*: named by errors."""

    __slots__ = ("place", "reads", "test", "text")

    def __init__(self, text: str, test: Predicate, reads: frozenset[str], place: str) -> None:
        self.text = text
        self.test = test
        self.reads = reads
        self.place = place

    def __call__(self, view: View) -> bool:
        """Evaluate the condition; raises EvalError."""
        return self.test(Evaluation(view))


class StringExpr:
    """A compiled string expression; *fixed* is its text if it does not depend on the request, else None."""

    __slots__ = ("fixed", "place", "reads", "text", "word")

    def __init__(self, text: str, word: Word, reads: frozenset[str], place: str) -> None:
        self.text = text
        self.word = word
        self.reads = reads
        self.place = place
        self.fixed = word if isinstance(word, str) else None

    def __call__(self, view: View, match: Match | None = EMPTY_MATCH) -> str:
        """Evaluate the string; *match* is the source of ``$0`` to ``$9``.  Raises EvalError."""
        word = self.word
        return word if isinstance(word, str) else word(Evaluation(view, match))


def compile_condition(
    text: str,
    *,
    restricted: bool = False,
    in_document: bool = False,
    by_length: bool = False,
    lookup: Lookup | None = None,
    place: str = "",
) -> CompiledCondition:
    """Compile the condition *text*; raises ExprError.

    *restricted*: in a .htaccess file; *in_document*: in a page; *by_length*: compared as SSLRequire does;
    *place* is ``FILE:LINE``.
    """
    from whimbrel.expr import compiler, parser  # a tenth of -t's time; few configurations have expressions

    generator = compiler.CodeGenerator(by_length=by_length)
    parsed = parser.parse_condition(text, restricted=restricted, in_document=in_document, lookup=lookup)
    return CompiledCondition(text, generator.test(parsed, 1), frozenset(generator.reads), place)


def compile_string(
    text: str, *, restricted: bool = False, lookup: Lookup | None = None, place: str = ""
) -> StringExpr:
    """Compile the string expression *text*; raises ExprError."""
    if SPECIAL.isdisjoint(text) and len(text) <= MAX_STRING:
        return StringExpr(text, text, frozenset(), place)
    from whimbrel.expr import compiler, parser  # a tenth of -t's time; few configurations have expressions

    generator = compiler.CodeGenerator()
    return StringExpr(
        text,
        generator.word(parser.parse_string(text, restricted=restricted, lookup=lookup), 2),
        frozenset(generator.reads),
        place,
    )
