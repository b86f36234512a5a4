"""Comparable forms of settings: equal forms mean equal behaviour under one version."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.regex import Regex
from whimbrel.config.configuration import Configuration
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.model import LogSink, Server
from whimbrel.directives.node import Node
from whimbrel.registry.settings import UNSET

Parser = Callable[[str], Mapping[str, object]]
_MAX_DEPTH: Final = 40
_MAX_FILE: Final = 1 << 22
"""Bytes of a file that its form is made of; longer files are told apart by their length, too."""
_PLAIN: Final = (bool, int, float, bytes, complex)
_WITHOUT_MEANING: Final = (SourceLocation, Node, Configuration, ModuleType)
"""Types of values that say where a setting stands, not what it does."""
_UNNAMED: Final = frozenset(("place", "line", "path_of_line", "origins", "__weakref__", "__dict__"))


class ValueForms:
    """Forms of the settings of one side.

    Paths below *root*, that of the side, and below those of *others* are written relative to it, with a
    digest of the file that is there, or at its place on *disk*: NEW may be a copy, and may name files of OLD.
    """

    def __init__(self, root: str, *others: str, disk: CopiedPaths = IN_PLACE) -> None:
        self.disk = disk
        self.root = root.rstrip("/") + "/"
        roots = (one.rstrip("/") + "/" for one in (root, *others))
        self._roots = sorted({one for one in roots if len(one) > 1}, key=len, reverse=True)
        self._files: dict[tuple[str, Parser | None], str] = {}
        self._inside: list[int] = []

    def form(self, value: object) -> object:
        """Return the form of *value*; a value that cannot be compared is equal to nothing."""
        if value is None or value is UNSET or value is Ellipsis:
            return repr(value)
        if isinstance(value, Enum):
            return (type(value).__qualname__, value.name)
        if isinstance(value, _PLAIN):
            return (type(value).__name__, value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, _WITHOUT_MEANING):
            return type(value).__name__
        if isinstance(value, LogSink):
            return "log"  # no response depends on where lines go
        if isinstance(value, Server):
            return ("server", value.name, tuple(value.names))
        if id(value) in self._inside:
            return ("above", len(self._inside) - self._inside.index(id(value)))
        if len(self._inside) >= _MAX_DEPTH:
            return object()
        self._inside.append(id(value))
        try:
            return self._compound(value)
        finally:
            self._inside.pop()

    def text(self, text: str, parse: Parser | None = None) -> object:
        """Return the form of a text, which may be a path; see `file`."""
        root = next((one for one in self._roots if text.startswith(one)), "")
        return (text[len(root) :], self.file(text, parse)) if root else text

    def file(self, path: str, parse: Parser | None = None) -> str:
        """Return a digest of the regular file at *path*, "" if there is none.

        *parse* returns the entries of the text of a file in which nothing else counts.
        """
        key = path, parse
        digest = self._files.get(key)
        if digest is None:
            digest = _digest_of(self.disk.on_disk(path), parse)
            self._files[key] = digest
        return digest

    def _compound(self, value: object) -> object:
        if isinstance(value, Mapping):
            pairs = [(self.form(key), self.form(item)) for key, item in value.items()]
            return ("mapping", tuple(sorted(pairs, key=repr)))
        if isinstance(value, AbstractSet):
            return ("set", tuple(sorted(map(self.form, value), key=repr)))
        if isinstance(value, Sequence):
            return ("sequence", tuple(map(self.form, value)))
        if isinstance(value, Regex):
            return ("pattern", value.pattern, value.ignore_case)
        if isinstance(value, type | BuiltinFunctionType):
            return ("named", f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, partial):
            return ("partial", self.form(value.func), self.form(value.args), self.form(value.keywords))
        if isinstance(value, MethodType):
            return ("method", value.__func__.__qualname__, self.form(value.__self__))
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, CodeType):
            return ("code", value.co_code, self.form(value.co_consts), value.co_names)
        return self._object(value)

    def _function(self, function: FunctionType) -> object:
        """Return the form of a function: its code with what it closes over."""
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        defaults = (function.__defaults__, function.__kwdefaults__)
        return ("function", function.__qualname__, self.form(function.__code__), self.form((cells, defaults)))

    def _object(self, value: Any) -> object:
        """Return the form of an object: its attributes; without any it is equal to nothing."""
        kind = type(value)
        names = {name for base in kind.__mro__ for name in _slots_of(base)}
        names.update(getattr(value, "__dict__", {}))
        if not names and kind.__module__ in ("builtins", "re", "_thread"):
            pattern = getattr(value, "pattern", None)
            return object() if pattern is None else ("pattern", pattern, value.flags)
        attributes = {name: getattr(value, name, UNSET) for name in sorted(names - _UNNAMED)}
        if any(isinstance(one, LogSink) for one in attributes.values()):
            attributes.pop("written", None)  # the path as the text has it
        parts = [(name, self.form(one)) for name, one in attributes.items()]
        return (f"{kind.__module__}.{kind.__qualname__}", tuple(parts))


def _slots_of(kind: type[Any]) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _digest_of(path: str, parse: Parser | None) -> str:
    name = to_bytes(path)
    try:
        if not os.path.isfile(name):
            return ""
        data = read_start(name, _MAX_FILE)
        length = os.path.getsize(name)
    except (OSError, ValueError):
        return ""
    if parse is not None and length <= len(data):
        data = repr(sorted(parse(to_text(data)).items())).encode()
        length = len(data)
    return f"{length} {hashlib.blake2b(data, digest_size=8).hexdigest()}"
