"""Parser of expressions, with httpd's messages.

A syntax error ends the parsing.  An unknown name does not: the message then has the syntax error first, and
the last unknown name after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from whimbrel.base.numbers import upper
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.expr import tree
from whimbrel.expr.errors import ExprError
from whimbrel.expr.functions import FUNCTIONS
from whimbrel.expr.lalr import LalrState, states
from whimbrel.expr.lexer import Lexer
from whimbrel.expr.operators import BINARY, UNARY
from whimbrel.expr.variables import VARIABLES

if TYPE_CHECKING:
    from whimbrel.expr.library import ExprFunction, ExprVariable, ListFunction, Lookup

_MAX_DEPTH: Final = 10_000
_NOTHING: Final = tree.Text("")
_UNKNOWN: Final = tree.Text("", quoted=False)  # stands for an unknown name


class _Abort(Exception):
    """Abort: the scanner's message is the whole error."""


def parse_condition(
    text: str, *, restricted: bool = False, in_document: bool = False, lookup: Lookup | None = None
) -> tree.TestNode:
    """Parse a condition to its tree; raises ExprError.

    *restricted*: for a .htaccess file; *in_document*: for a page, where tests of files are undefined;
    *lookup*: finds names of modules.
    """
    node: tree.TestNode = _parse(
        Lexer(text, string=False), Builder(restricted or in_document, lookup, in_document)
    )
    return node


def parse_string(text: str, *, restricted: bool = False, lookup: Lookup | None = None) -> tree.Word:
    """Parse a string to its tree; raises ExprError."""
    if not text:
        return _NOTHING
    node: tree.Word = _parse(Lexer(text, string=True), Builder(restricted, lookup))
    return node


def _parse(lexer: Lexer, builder: Builder) -> Any:
    builder.lexer = lexer
    problem = ""
    try:
        tree = _run(lexer, builder)
    except ExprError as error:
        problem = error.reason
    except _Abort:
        pass
    if lexer.problem:
        problem = f"{problem}: {lexer.problem}" if problem else lexer.problem
    if problem:
        raise ExprError(problem)
    return tree


def _run(lexer: Lexer, builder: Builder) -> Any:
    """Shift and reduce until the end of the text."""
    table = states()
    stack = [0]
    values: list[Any] = []
    token: tuple[str, str] | None = None
    while True:
        state = table[stack[-1]]
        if state.shift:
            if token is None:
                token = lexer.next()
            target = state.shift.get(token[0])
            if target is not None:
                if token[0] == "$end":
                    return values[0]
                if len(stack) >= _MAX_DEPTH:
                    raise ExprError("memory exhausted")
                stack.append(target)
                values.append(token[1])
                token = None
                continue
        rule = state.reduce
        if rule is None:
            raise ExprError(_unexpected(state, token))
        count = len(rule.parts)
        taken = values[-count:]
        del stack[-count:], values[-count:]
        values.append(builder.make(rule.make, [taken[index] for index in rule.keep]))
        stack.append(table[stack[-1]].go[rule.name])


def _unexpected(state: LalrState, token: tuple[str, str] | None) -> str:
    listed = " or ".join(state.expecting)
    return f"syntax error, unexpected {token[0] if token else '$end'}" + (
        f", expecting {listed}" if listed else ""
    )


class Builder:
    """Builder of nodes, which resolves names; *lexer* holds the message about the last unknown one."""

    lexer: Lexer

    def __init__(self, restricted: bool, lookup: Lookup | None, in_document: bool = False) -> None:
        self._restricted = restricted
        self._in_document = in_document
        self._lookup = lookup or (lambda group, name: None)

    def make(self, what: str, values: list[Any]) -> Any:
        """Return the value of a reduced rule."""
        if not what:
            return values[0]
        if what.startswith("compare "):
            return tree.Compare(what[8:], *values)
        return getattr(self, what)(*values)

    def _refuse(self, problem: str) -> None:
        self.lexer.problem = problem

    # conditions
    def fail(self, _token: str) -> NoReturn:
        raise _Abort

    def true(self) -> tree.TestNode:
        return tree.Constant(True)

    def false(self) -> tree.TestNode:
        return tree.Constant(False)

    def negated(self, inner: tree.TestNode) -> tree.TestNode:
        return tree.Not(inner)

    def either(self, left: tree.TestNode, right: tree.TestNode) -> tree.TestNode:
        return tree.Either(left, right)

    def both(self, left: tree.TestNode, right: tree.TestNode) -> tree.TestNode:
        return tree.Both(left, right)

    def unary(self, name: str, word: tree.Word) -> tree.TestNode:
        """An operator before a word; its name is case-sensitive."""
        operator = UNARY.get(name)
        if operator is None:
            self._refuse(f"Unary operator '-{name}' does not exist")
            return tree.Constant(False)
        if operator.about_files and self._in_document:
            self._refuse(f"-{name} not available in restricted context")
        return tree.Unary(operator, word, self._prepared(f"-{name}", operator.prepare, word))

    def binary(self, left: tree.Word, name: str, right: tree.Word) -> tree.TestNode:
        """A named operator between words; its name is case-insensitive."""
        operator = BINARY.get(name.lower())
        if operator is None:
            self._refuse(f"Binary operator '-{name}' does not exist")
            return tree.Constant(False)
        return tree.Binary(operator, left, right, self._prepared(f"-{name}", operator.prepare, right))

    def _prepared(self, name: str, prepare: Any, word: tree.Word) -> Any:
        if prepare is None:
            return None
        if not isinstance(word, tree.Text) or not word.quoted:
            self._refuse(f"{name} requires subnet/netmask as constant argument")
            return None
        try:
            return prepare(word.value)
        except ValueError as problem:
            self._refuse(str(problem))
            return None

    def member(self, word: tree.Word, among: Any) -> tree.TestNode:
        return tree.Member(word, among)

    def match(self, word: tree.Word, regex: Any) -> tree.TestNode:
        return tree.Match(word, regex, False)

    def mismatch(self, word: tree.Word, regex: Any) -> tree.TestNode:
        return tree.Match(word, regex, True)

    def regex(self, pattern: str) -> Any:
        return self._regex(pattern, False)

    def regex_ignoring_case(self, pattern: str) -> Any:
        return self._regex(pattern, True)

    def _regex(self, pattern: str, ignore_case: bool) -> Any:
        try:
            return compile_regex(pattern, ignore_case=ignore_case)
        except RegexError:
            raise ExprError("Failed to compile regular expression") from None

    def one(self, word: tree.Word) -> tuple[tree.Word, ...]:
        return (word,)

    def another(self, words: tuple[tree.Word, ...], word: tree.Word) -> tuple[tree.Word, ...]:
        return (*words, word)

    # words
    def text(self, value: str) -> tree.Word:
        return tree.Text(value)

    def digits(self, value: str) -> tree.Word:
        return tree.Text(value, quoted=False)

    def empty(self) -> tree.Word:
        return _NOTHING

    def join(self, left: tree.Word, right: tree.Word) -> tree.Word:
        """Concatenate two words; nested concatenations become one."""
        pieces = [
            part
            for word in (left, right)
            for part in (word.parts if isinstance(word, tree.Join) else (word,))
        ]
        return tree.Join(tuple(pieces))

    def backref(self, number: str) -> tree.Word:
        return tree.Backref(int(number))

    def variable(self, name: str) -> tree.Word:
        """Resolve a variable; the core's come before those of modules."""
        entry: ExprVariable | None = VARIABLES.get(upper(name)) or self._lookup("expr_variable", upper(name))
        if entry is None:
            self._refuse(f"Variable '{name}' does not exist")
            return _UNKNOWN
        return tree.Var(entry)

    def call(self, name: str, argument: tree.Word) -> tree.Word:
        """Resolve a function in either spelling; .htaccess files and documents have no restricted ones."""
        function: ExprFunction | None = FUNCTIONS.get(name.lower()) or self._lookup(
            "expr_function", name.lower()
        )
        if function is None:
            self._refuse(f"Function '{name}' does not exist")
            return _UNKNOWN
        if function.restricted and self._restricted:
            self._refuse(f"{name} not available in restricted context")
        return tree.Call(name, function, argument)

    def list_call(self, name: str, argument: tree.Word) -> Any:
        """Resolve a function after ``in``: only modules have them."""
        function: ListFunction | None = self._lookup("expr_list", name.lower())
        if function is None:
            self._refuse(f"List-returning function '{name}' does not exist")
            return ()
        return tree.ListCall(name, function, argument)
