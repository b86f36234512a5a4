"""The codes and texts of src's log lines beside those of httpd 2.4.71, which log_messages.tsv has.

``python -m tests.meta.log_messages`` writes the file anew from the programs of an installed apache2: of each
code that src names the format of its message, and the file that has it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.meta.tree import PACKAGE, sources

TABLE = Path(__file__).with_name("log_messages.tsv")
PROGRAMS = ("/usr/sbin/apache2", *sorted(map(str, Path("/usr/lib/apache2/modules").glob("mod_*.so"))))
CODE = re.compile(r"AH\d{5}")
MESSAGE = re.compile(rb"[\t\x20-\x7e]*?(AH\d{5}): ([\t\n\x20-\x7e]*)\0")
DIRECTIVE = re.compile(r"%%|%[-+ #0-9.*]*(?:hh|h|ll|l|z|j)?(?:p[a-zA-Z]|[a-zA-Z])")
VALUE = "\x01"
"""Stands for a value in a text of src."""
MIN_WORDS = 10
"""Letters that a text must have to be a message."""


@dataclass(frozen=True, slots=True)
class Line:
    """A code of src with the texts beside it, whose values are VALUE."""

    place: str
    code: str
    texts: tuple[str, ...]

    def agrees(self, formats: set[str]) -> bool:
        """Return True if one of the texts is made by one of httpd's formats."""
        return any(fits(text, form) for text in self.texts for form in formats)


def fits(text: str, form: str) -> bool:
    """Return True if *text* is a result of the format *form*, perhaps with more around it.

    A value of the text may stand for literal words of the format.
    """
    literal = [
        part.replace("%%", "%")
        for part in DIRECTIVE.sub(lambda m: "%" if m[0] == "%%" else VALUE, form).split(VALUE)
    ]
    if re.search(".*?".join(map(re.escape, literal)), text, re.DOTALL):
        return True
    parts = [part for part in text.split(VALUE) if part.strip()]
    whole = VALUE.join(literal)
    return bool(parts) and re.search(".*?".join(map(re.escape, parts)), whole, re.DOTALL) is not None


def recorded() -> dict[str, set[str]]:
    """Return httpd's formats by code."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in TABLE.read_text().splitlines():
        code, _, text = row.split("\t", 2)
        found[code].add(text.replace("\\n", "\n").replace("\\t", "\t"))
    return found


@cache
def lines() -> tuple[Line, ...]:
    """Return the codes of src that stand beside a text: in a call, or in a tuple."""
    found: list[Line] = []
    for source in sources("src"):
        if CODE.search(source.text):
            name = str(source.path.relative_to(PACKAGE))
            found += _lines(source.tree, name, _assigned(source.tree.body))
    return tuple(found)


Names = Mapping[str, list[ast.expr]]


def _assigned(body: list[ast.stmt]) -> Names:
    """Return what names are set to in statements, those inside others included."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for statement in body:
        for node in ast.walk(statement):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                found[target.id].append(value)
    return found


def _lines(node: ast.AST, path: str, names: Names) -> Iterator[Line]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        names = {**names, **_assigned(node.body)}
    beside: list[ast.expr] = []
    if isinstance(node, ast.Call):
        beside = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Tuple):
        beside = node.elts
    codes = [one.value for one in beside if isinstance(one, ast.Constant) and _is_code(one.value)]
    texts = [text for one in beside for text in _texts(one, names) if not _is_code(text)]
    messages = tuple(text for text in texts if len(re.sub(r"[^A-Za-z ]", "", text)) >= MIN_WORDS)
    if len(codes) == 1 and messages:
        yield Line(f"{path}:{node.lineno}", str(codes[0]), messages)  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        yield from _lines(child, path, names)


def _is_code(value: object) -> bool:
    return isinstance(value, str) and CODE.fullmatch(value) is not None


def _texts(node: ast.expr, names: Names) -> list[str]:
    """Return the texts that an expression can be, as far as it shows them."""
    if isinstance(node, ast.Constant):
        return [DIRECTIVE.sub(VALUE, node.value)] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(one.value) if isinstance(one, ast.Constant) else VALUE for one in node.values)]
    if isinstance(node, ast.Name):
        return [text for value in names.get(node.id, []) for text in _texts(value, {})]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, names), *_texts(node.orelse, names)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _texts(node.left, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        heads = _texts(node.left, names) or [VALUE]
        return [head + tail for head in heads for tail in _texts(node.right, names) or [VALUE]]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return [re.sub(r"\{[^}]*\}", VALUE, text) for text in _texts(node.func.value, names)]
    return []


def codes() -> set[str]:
    """Return every code that src names."""
    return {code for source in sources("src") for code in CODE.findall(source.text)}


def main() -> None:
    """Write the table."""
    wanted = codes()
    rows = set()
    for program in PROGRAMS:
        for code, text in MESSAGE.findall(Path(program).read_bytes()):
            if code.decode() in wanted:
                form = text.decode().replace("\n", "\\n").replace("\t", "\\t")
                rows.add(f"{code.decode()}\t{Path(program).name}\t{form}")
    TABLE.write_text("\n".join(sorted(rows)) + "\n")


if __name__ == "__main__":
    main()
