"""Doubles of the package's own functions, bound to the signature of what they replace.

`install` makes pytest's MonkeyPatch check each replacement of an attribute of this package: a double that
accepts calls which the original refuses would let a test pass on code that cannot run.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import NonCallableMock

import pytest

PACKAGE = "whimbrel"


class DoubleError(AssertionError):
    """A double does not fit what it replaces."""


def is_ours(target: object) -> bool:
    """Return True for a module, a class or an instance of a class of this package."""
    if isinstance(target, ModuleType):
        name = target.__name__
    else:
        name = (target if isinstance(target, type) else type(target)).__module__
    return name.partition(".")[0] == PACKAGE


def _function(value: object) -> Any:
    """Return the function behind a method or static method; None for anything else."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, functools.partial):
        return value
    return value if inspect.isroutine(value) else None


def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # a function in C without a signature
        return None


def checked(original: object, double: Any, name: str) -> Any:
    """Return *double*, whose calls must fit the signature of *original*; raises DoubleError if the kinds
    differ.
    """
    if isinstance(double, NonCallableMock) or hasattr(double, "mock"):
        if getattr(double, "_mock_methods", None) is None and not hasattr(double, "mock"):
            raise DoubleError(f"{name}: a mock needs create_autospec")
        return double
    function = _function(original)
    if function is None:
        _check_value(original, double, name)
        return double
    if not callable(double):
        raise DoubleError(f"{name} is a function; its double is not")
    return bound(function, double, name)


def bound(function: Callable[..., object], double: Any, name: str) -> Any:
    """Return *double* behind a check of each call against the signature of *function*."""
    if inspect.iscoroutinefunction(double) and not inspect.iscoroutinefunction(function):
        raise DoubleError(f"{name} is no coroutine function; its double is")
    signature = _signature(function)
    if signature is None or not isinstance(double, FunctionType):
        return double

    @functools.wraps(double)
    def call(*words: Any, **named: Any) -> Any:
        try:
            signature.bind(*words, **named)
        except TypeError as problem:
            raise DoubleError(f"{name}: {problem}") from None
        return double(*words, **named)

    return call


def _check_value(original: object, double: object, name: str) -> None:
    """Raise DoubleError unless a value stands for a value of its kind; numbers are of one kind."""
    if isinstance(original, type):
        missing = [
            attribute
            for attribute in (vars(double) if isinstance(double, type) else {})
            if not attribute.startswith("_") and not hasattr(original, attribute)
        ]
        if missing:
            raise DoubleError(f"{name}: the original has no {', '.join(missing)}")
    elif isinstance(original, int | float) and isinstance(double, int | float):
        return
    elif original is not None and double is not None and not isinstance(double, type(original)):
        if not (callable(original) and callable(double)):
            raise DoubleError(f"{name} is a {type(original).__name__}, its double a {type(double).__name__}")


def _resolved(path: str) -> tuple[object, str]:
    """Return the object that holds the last name of a dotted path, and that name."""
    owner, _, name = path.rpartition(".")
    try:
        return importlib.import_module(owner), name
    except ModuleNotFoundError:
        holder, attribute = _resolved(owner)
        return getattr(holder, attribute), name


def install() -> None:
    """Check what MonkeyPatch.setattr puts into this package, from now on."""
    plain = pytest.MonkeyPatch.setattr

    @functools.wraps(plain)
    def setattr_checked(
        self: pytest.MonkeyPatch, target: Any, name: Any, value: Any = None, raising: bool = True
    ) -> None:
        if isinstance(target, str) and value is None:
            if not target.startswith(f"{PACKAGE}."):
                return plain(self, target, name, raising=raising)
            value = name
            target, name = _resolved(target)
        if is_ours(target):
            label = f"{getattr(target, '__name__', type(target).__name__)}.{name}"
            if not hasattr(target, name):
                raise DoubleError(f"{label} does not exist")
            is_holder = isinstance(target, ModuleType | type)
            original = inspect.getattr_static(target, name) if is_holder else getattr(target, name)
            value = checked(original, value, label)
        return plain(self, target, name, value, raising=raising)

    pytest.MonkeyPatch.setattr = setattr_checked  # type: ignore[assignment,method-assign]
