"""Code generator: expression trees to functions, once, when the configuration is read.

A condition is a function of the evaluation; a word is one too or, if it does not depend on the request, a
text.  httpd fails on parts of an expression nested deeper than 20 levels when it evaluates them; levels are
counted here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from whimbrel.base.numbers import by_length, strtol
from whimbrel.expr import tree
from whimbrel.expr.errors import EvalError
from whimbrel.expr.evaluation import Evaluation

Predicate = Callable[[Evaluation], bool]
Word = str | Callable[[Evaluation], str]

_MAX_DEPTH: Final = 20
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def _too_deep(_e: Evaluation) -> Any:
    raise EvalError("Recursion limit reached")


def _value(word: Word, e: Evaluation) -> str:
    return word if isinstance(word, str) else word(e)


class CodeGenerator:
    """Generator that records the inputs of an expression in *reads*; levels count from 1.

    *by_length*: all comparisons are of texts, and shorter texts are less than longer ones (SSLRequire).
    """

    def __init__(self, *, by_length: bool = False) -> None:
        self.reads: set[str] = set()
        self._by_length = by_length

    # words --------------------------------------------------------------------------------------------
    def word(self, node: tree.Word, level: int) -> Word:
        """Compile a word at nesting *level*."""
        if level > _MAX_DEPTH:
            return _too_deep
        if isinstance(node, tree.Text):
            return node.value
        if isinstance(node, tree.Backref):
            number = node.number
            return lambda e: e.group(number)
        if isinstance(node, tree.Var):
            self.reads |= node.variable.reads
            read = node.variable.read
            return lambda e: read(e) or ""
        if isinstance(node, tree.Join):
            return self._join([self.word(part, level + 1) for part in node.parts])
        return self._call(node, level)

    def _join(self, parts: list[Word]) -> Word:
        if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        return lambda e: "".join([part if isinstance(part, str) else part(e) for part in parts])

    def _call(self, node: tree.Call, level: int) -> Word:
        self.reads |= node.function.reads
        call = node.function.call
        argument = self.word(node.argument, level + 1)
        if isinstance(argument, str):
            constant = argument
            return lambda e: call(e, constant) or ""
        dynamic_argument = argument
        return lambda e: call(e, dynamic_argument(e)) or ""

    # conditions ---------------------------------------------------------------------------------------
    def test(self, node: tree.TestNode, level: int) -> Predicate:
        """Compile a condition at *level*; the right operand, and that of ``!``, has the operator's."""
        if level > _MAX_DEPTH:
            return _too_deep
        if isinstance(node, tree.Constant):
            value = node.value
            return lambda e: value
        if isinstance(node, tree.Not):
            inner = self.test(node.inner, level)
            return lambda e: not inner(e)
        if isinstance(node, (tree.Both, tree.Either)):
            return self._joined(node, level)
        if isinstance(node, tree.Compare):
            return self._compare(node, level)
        if isinstance(node, tree.Match):
            return self._match(node, level)
        if isinstance(node, tree.Member):
            return self._member(node, level)
        return self._unary(node, level) if isinstance(node, tree.Unary) else self._binary(node, level)

    def _joined(self, node: tree.Both | tree.Either, level: int) -> Predicate:
        kind = type(node)
        tests: list[Predicate] = []
        rest: tree.TestNode = node
        while isinstance(rest, kind):
            tests.append(self.test(rest.left, level + 1))
            rest = rest.right
        tests.append(self.test(rest, level))
        final = kind is tree.Either

        def joined(e: Evaluation) -> bool:
            for test in tests:
                if test(e) is final:
                    return final
            return not final

        return joined

    def _compare(self, node: tree.Compare, level: int) -> Predicate:
        """Compile a comparison: the second word comes first, as the order of the Vary field shows."""
        left = self.word(node.left, level + 1)
        right = self.word(node.right, level + 1)
        compare = _COMPARE[node.token[-2:]]
        if self._by_length:
            return self._compare_lengths(left, right, compare)
        if not node.token.startswith("T_OP_STR_"):
            return self._compare_numbers(left, right, compare)
        if isinstance(right, str) and not isinstance(left, str):
            constant = right
            read = left
            return lambda e: compare(read(e), constant)

        def texts(e: Evaluation) -> bool:
            second = _value(right, e)
            return compare(_value(left, e), second)

        return texts

    def _compare_lengths(self, left: Word, right: Word, compare: Callable[[Any, Any], bool]) -> Predicate:
        def texts(e: Evaluation) -> bool:
            second = _value(right, e)
            return compare(by_length(_value(left, e), second), 0)

        return texts

    def _compare_numbers(self, left: Word, right: Word, compare: Callable[[Any, Any], bool]) -> Predicate:
        def numbers(e: Evaluation) -> bool:
            second = strtol(_value(right, e))[0]
            return compare(strtol(_value(left, e))[0], second)

        return numbers

    def _match(self, node: tree.Match, level: int) -> Predicate:
        """Compile a match: only an expression with groups replaces ``$0`` to ``$9``."""
        word = self.word(node.word, level + 1)
        search = node.regex.search
        negated = node.negated
        if not node.regex.groups:
            return lambda e: (search(_value(word, e)) is not None) is not negated

        def match(e: Evaluation) -> bool:
            e.match = search(_value(word, e))
            return (e.match is not None) is not negated

        return match

    def _member(self, node: tree.Member, level: int) -> Predicate:
        word = self.word(node.word, level + 1)
        among = node.among
        if isinstance(among, tree.ListCall):
            self.reads |= among.function.reads
            return self._listed(word, among.function.call, self.word(among.argument, level + 1))
        words = [
            self.word(one, level + 1) for one in reversed(among)
        ]  # httpd evaluates the last one first, which the Vary field shows
        constants = {one for one in words if isinstance(one, str)}
        if len(constants) == len(set(words)):
            return lambda e: _value(word, e) in constants

        def member(e: Evaluation) -> bool:
            value = _value(word, e)
            return any(value == _value(one, e) for one in words)

        return member

    def _listed(
        self, word: Word, call: Callable[[Evaluation, str], Sequence[str]], argument: Word
    ) -> Predicate:
        def listed(e: Evaluation) -> bool:
            value = _value(word, e)
            return value in call(e, _value(argument, e))

        return listed

    def _unary(self, node: tree.Unary, level: int) -> Predicate:
        self.reads |= node.operator.reads
        test = node.operator.test
        word = self.word(node.word, level + 1)
        data = node.data
        if node.operator.prepare is not None:
            return lambda e: test(e, data)
        return lambda e: test(e, _value(word, e))

    def _binary(self, node: tree.Binary, level: int) -> Predicate:
        self.reads |= node.operator.reads
        left = self.word(node.left, level + 1)
        right = self.word(node.right, level + 1)
        test = node.operator.test
        pattern = node.operator.pattern
        data = node.data
        if pattern is None:
            return lambda e: test(e, _value(left, e), data)
        if isinstance(right, str):
            compiled = pattern(right)
            return lambda e: test(e, _value(left, e), compiled)
        changing = pattern

        def binary(e: Evaluation) -> bool:
            second = changing(_value(right, e))
            return test(e, _value(left, e), second)

        return binary
