"""Mutations of a source text: one place, one small change that a programmer could have made by mistake."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

SWAPS = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
}
OPERATOR = re.compile(rb"not\s+in|is\s+not|==|!=|<=|>=|<|>|\bin\b|\bis\b|\band\b|\bor\b|\+|-")
BOUND = re.compile(
    r"_?(MAX|MIN)_|.*(_SECONDS|_THRESHOLD|_BYTES|_LIMIT|_LENGTH|_SIZE|_TIMEOUT)\Z|_?(TIMEOUT|MANY|FEW)\Z"
)
"""Names of constants whose numbers are bounds: one more or less is nothing that a request shows."""
STATUSES = range(100, 600)
NEIGHBOR = {200: 204, 301: 302, 302: 301, 304: 200, 401: 403, 403: 404, 404: 403, 500: 503}
"""The status that could be confused with it; others become the next number."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A replacement in one file.

    Attributes:
        path: of the file, relative to the checkout. `line`: of the place, from 1.
        statement: the line on which its statement begins.
        begin, end: offsets in bytes. `old`, `new`: the text there, and what replaces it.
        kind: what is changed. `name`: the function or class around it, "" for the module.
        number: of the equal changes in one function, from 1.
    """

    path: str
    line: int
    statement: int
    begin: int
    end: int
    old: str
    new: str
    kind: str
    name: str
    number: int = 1

    def applied(self, source: bytes) -> bytes:
        """Return *source* with the replacement."""
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def key(self) -> str:
        """Return a name of the mutation that stays when lines are added elsewhere in the file."""
        change = f"{shortened(self.old)} -> {shortened(self.new)}"
        which = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path} {self.name or '(module)'} {self.kind}: {change}{which}"


def shortened(text: str) -> str:
    """Return *text* on one line of at most 80 characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:77]}..."


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class _Finder(ast.NodeVisitor):
    """Collects the mutations of one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self.found: list[Mutation] = []
        self._names: list[str] = []
        self._statement = 1
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _begin(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self._begin(node) : self._end(node)].decode()

    def _add(self, kind: str, begin: int, end: int, new: str) -> None:
        old = self.source[begin:end].decode()
        line = self.source.count(b"\n", 0, begin) + 1
        name = ".".join(self._names)
        self.found.append(Mutation(self.path, line, self._statement, begin, end, old, new, kind, name))

    def _swap(self, kind: str, left: ast.expr, right: ast.expr) -> None:
        """Add the exchange of the operator between two operands; a gap with a comment is left out."""
        begin = self._end(left)
        gap = self.source[begin : self._begin(right)]
        operator = OPERATOR.search(gap)
        if operator is not None and b"#" not in gap:
            new = SWAPS[" ".join(operator[0].decode().split())]
            self._add(kind, begin + operator.start(), begin + operator.end(), new)

    def _named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """Visit a body, without decorators, annotations and defaults of arguments."""
        self._names.append(node.name)
        self._statements(node.body)
        self._names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _named

    def visit_Module(self, node: ast.Module) -> None:
        self._statements(node.body)

    def _statements(self, body: list[ast.stmt]) -> None:
        for number, node in enumerate(body):
            self._statement = node.lineno
            if not _is_docstring(node):
                if self._names and len(body) > 1 and isinstance(node, (ast.Expr, ast.AugAssign)):
                    self._add("dropped statement", self._begin(node), self._end(node), "pass")
                if isinstance(node, ast.If) and number + 1 < len(body) and self._names:
                    self._early_return(node)
                self.visit(node)

    def _early_return(self, node: ast.If) -> None:
        """Add the loss of an early return: the condition is never true."""
        if isinstance(node.body[-1], ast.Return) and not node.orelse:
            self._add("early return", self._begin(node.test), self._end(node.test), "False")

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.visit(node.test)
        self._statements(node.body)
        self._statements(node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._statements(node.body)
        self._statements(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._statements(node.body)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
        self._statements(node.body)

    def visit_Try(self, node: ast.Try) -> None:
        for body in (node.body, node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
            self._statements(body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and not self._is_bound(node.target, node.value):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self._is_bound(node.targets[0], node.value):
            self.generic_visit(node)

    def _is_bound(self, target: ast.expr, value: ast.expr) -> bool:
        """Return True for a constant of a module that is a bound."""
        is_number = not any(isinstance(node, (ast.Name, ast.Call, ast.Dict)) for node in ast.walk(value))
        return (
            not self._names
            and is_number
            and isinstance(target, ast.Name)
            and BOUND.match(target.id) is not None
        )

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            self._add("result", self._begin(node.value), self._end(node.value), str(not node.value.value))
        elif node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """The words of an exception are left out."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Parts of a formatted text have no offsets of their own before Python 3.12."""

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in zip((node.left, *node.comparators), node.comparators, strict=False):
            self._swap("comparison", left, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap("and, or", left, right)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            self._swap("arithmetic", node.left, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            begin = self._begin(node)
            self._add("not", begin, begin + len("not "), "")
        self.generic_visit(node)

    def _elements(self, elements: list[ast.expr]) -> None:
        """Add the loss of one element, with the comma behind it."""
        for element, following in zip(elements, elements[1:], strict=False):
            self._loss(element, following)

    def _loss(self, element: ast.expr, following: ast.expr) -> None:
        """Add the loss of an element, unless a parenthesis around one of the two would stay alone."""
        begin = self._begin(element)
        end = self._begin(following)
        text = self.source[begin:end]
        if text.count(b"(") == text.count(b")") and not text.rstrip().endswith(b"("):
            self._add("element", begin, end, "")

    def _sequence(self, node: ast.List | ast.Set | ast.Tuple) -> None:
        is_target = isinstance(node, (ast.List, ast.Tuple)) and not isinstance(node.ctx, ast.Load)
        if not is_target and len(node.elts) > 2:
            self._elements(node.elts)
        self.generic_visit(node)

    visit_List = visit_Set = visit_Tuple = _sequence

    def visit_Dict(self, node: ast.Dict) -> None:
        keys = node.keys
        for key, following in zip(keys, keys[1:], strict=False):
            if key is not None and following is not None:
                self._loss(key, following)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        new = None
        if isinstance(value, bool):
            new = str(not value)
        elif isinstance(value, int):
            is_status = value in STATUSES and value >= 200
            new = str(NEIGHBOR.get(value, value + 1) if is_status else value + 1)
        elif isinstance(value, str) and value and "\n" not in self._text(node):
            new = repr(f"{value}X")
        elif isinstance(value, bytes) and value and "\n" not in self._text(node):
            new = repr(value + b"X")
        if new is not None:
            kind = "status" if type(value) is int and value in STATUSES and value >= 200 else "constant"
            self._add(kind, self._begin(node), self._end(node), new)


def mutations(path: str, source: bytes) -> list[Mutation]:
    """Return every mutation of a file whose text is still Python, in the order of the walk."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    keys: Counter[str] = Counter()
    numbered = []
    for one in finder.found:
        keys[one.key()] += 1
        numbered.append(replace(one, number=keys[one.key()]))
    return numbered


def sampled(
    all_of_them: list[Mutation], count: int, shuffle: Callable[[list[Mutation]], None]
) -> Iterator[Mutation]:
    """Yield *count* mutations, of each kind about as many: most places are constants."""
    by_kind: dict[str, list[Mutation]] = {}
    for one in all_of_them:
        by_kind.setdefault(one.kind, []).append(one)
    groups = [by_kind[kind] for kind in sorted(by_kind)]
    for group in groups:
        shuffle(group)
    while count and any(groups):
        for group in groups:
            if group and count:
                count -= 1
                yield group.pop()
