"""Stand-ins at run time: integers for members of enumerations, plain classes for generic ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import whimbrel
from whimbrel.base.static_typing import Any, Generic, IntEnum, IntFlag, Protocol, TypeVar, cast

T = TypeVar("T")


class Bits(IntFlag):
    LOW = 1
    HIGH = 2
    BOTH = LOW | HIGH


class Number(IntEnum):
    ONE = 1


class Box(Generic[T]):
    __slots__ = ("content",)

    def __init__(self, content: T) -> None:
        self.content = content


class Sized(Protocol):
    def size(self) -> int: ...


class Word(Sized):
    def size(self) -> int:
        return 4


def test_members_are_integers() -> None:
    assert {type(member) for member in (Bits.LOW, Bits.BOTH, Number.ONE)} == {int}
    assert Bits.BOTH & ~Bits.LOW == Bits.HIGH


def test_generic_classes_have_no_dictionary() -> None:
    box = Box[Any](3)
    assert (box.content, hasattr(box, "__dict__")) == (3, False)


def test_protocols_are_bases() -> None:
    assert Word().size() == 4


def test_a_cast_returns_its_value() -> None:
    assert cast("int", "x") == "x"


def test_no_member_is_looked_up_in_an_integer() -> None:
    """The type checker accepts ``FLAG in flags``, which an integer refuses at run time."""
    texts = [file.read_text() for file in Path(whimbrel.__file__).parent.rglob("*.py")]
    flags = {
        node.name
        for text in texts
        if "IntFlag" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "IntFlag" for base in node.bases)
    }
    assert {"Reads", "Context", "Versions"} <= flags
    member = re.compile(rf"\b(?:{'|'.join(flags)})\s*\.\s*\w+[\s)\\]*(?:not\s+)?in\b")  # few files are parsed
    assert member.search("if (Context.FILES) not in found:")
    assert not [
        ast.unparse(node)
        for text in texts
        if member.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.In | ast.NotIn)
        and isinstance(node.left, ast.Attribute)
        and ast.unparse(node.left.value) in flags
    ]
