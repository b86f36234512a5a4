"""A plugin of pytest that collects once and then tries many mutations, each in a fork of the process.

``python -m pytest -p tests.mutants.trials tests/unit``, with two descriptors in MUTANTS_TRIALS: lines of JSON
come from the first, one for a trial, and go to the second. A fork exchanges the code of the functions that
live; the file on disk, which the caller has changed, is for what is imported later and for subprocesses.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType
from typing import TypedDict

import pytest


class Request(TypedDict):
    """One trial: the file that has been changed, and the tests ([]: all)."""

    path: str
    tests: list[str]


TEST_SECONDS = 10.0
"""Of processor time for the tests of one change: those behind them are not asked."""
CPU_SECONDS = 60
"""For the same; a test that does not end in them has noticed the change."""
SECONDS = 200
"""For the same, where they wait: the machine may be busy."""


class Reply(TypedDict):
    """By what a mutation is noticed (a test, "no end"), "" if it is not, None if it cannot be tried here."""

    noticed: str | None


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it, in the order of the text."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def changed_codes(before: bytes, after: bytes, path: str) -> dict[CodeType, CodeType] | None:
    """Return the code objects of a module whose text is *before*, each with its successor of *after*.

    None if the two do not have the same functions, or if what the import runs is not the same.
    """
    old = list(code_objects(compile(before, path, "exec", dont_inherit=True)))
    new = list(code_objects(compile(after, path, "exec", dont_inherit=True)))
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        return None
    found = {}
    for one, other in zip(old, new, strict=True):
        if _own(one) != _own(other) and not one.co_flags & 1:
            return None  # a module or the body of a class: it has run already
        if one.co_freevars != other.co_freevars:
            return None
        found[one] = other
    return found


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what a code object does itself, without the functions inside it."""
    constants = [(type(one), repr(one)) for one in code.co_consts if not isinstance(one, CodeType)]
    return (code.co_code, code.co_names, constants)


def _key(code: CodeType) -> tuple[str, int]:
    return (code.co_qualname, code.co_firstlineno)


def exchanged(functions: list[FunctionType], codes: dict[CodeType, CodeType]) -> None:
    """Give *functions*, all of one file, their new code."""
    by_key = {_key(old): new for old, new in codes.items()}
    for function in functions:
        code = by_key.get(_key(function.__code__))
        if code is not None:
            function.__code__ = code


SCALARS = (int, float, str, bytes, bool, type(None))
SEQUENCES = (tuple, list, set, frozenset)
MAPPINGS = (dict, MappingProxyType)


def is_plain(value: object) -> bool:
    """Return True for constants without functions and classes: these would be others than those that live."""
    if isinstance(value, MAPPINGS):
        return all(is_plain(one) for pair in value.items() for one in pair)
    if isinstance(value, SEQUENCES):
        return all(map(is_plain, value))
    return isinstance(value, (*SCALARS, re.Pattern))


def rebound(path: str, source: bytes) -> bool:
    """Give the constants of a module the values that they have in *source*, in all modules that import them.

    What has been made of a constant stays as it is. Returns False if that is not possible.
    """
    module = next((one for one in list(sys.modules.values()) if getattr(one, "__file__", "") == path), None)
    if module is None:
        return False
    names = {name: value for name, value in vars(module).items() if name.startswith("__")}
    try:
        exec(compile(source, path, "exec", dont_inherit=True), names)
    except Exception:
        return False
    for name, new in names.items():
        old = vars(module).get(name, new)
        if name.startswith("__") or old == new or not is_plain(new):
            continue
        for other in list(sys.modules.values()):
            for alias, value in list(vars(other).items()):
                if value is old and (alias == name or not isinstance(old, SCALARS)):
                    setattr(other, alias, new)
    return True


class _Trials:
    """The loop that stands in place of pytest's own."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._sources: dict[str, bytes] = {}
        self._functions: dict[str, list[FunctionType]] = {}
        gc.unfreeze()
        for function in gc.get_objects():
            if type(function) is FunctionType:
                self._functions.setdefault(function.__code__.co_filename, []).append(function)
        gc.freeze()
        for name in self._functions:
            if name.startswith(str(Path.cwd() / "src")) and os.path.exists(name):
                self._sources[name] = Path(name).read_bytes()

    def run(self) -> None:
        """Answer requests until there are no more."""
        reading, writing = map(int, os.environ["MUTANTS_TRIALS"].split())
        with os.fdopen(reading) as requests, os.fdopen(writing, "w") as replies:
            replies.write(json.dumps(list(self._items)) + "\n")
            replies.flush()
            for line in requests:
                replies.write(json.dumps(self._reply(json.loads(line))) + "\n")
                replies.flush()

    def _reply(self, request: Request) -> Reply:
        """Try a mutation; what goes wrong here is printed, and the mutation takes a process of its own."""
        try:
            return self._tried(request)
        except Exception:
            traceback.print_exc(file=sys.__stderr__)
            return {"noticed": None}

    def _tried(self, request: Request) -> Reply:
        path = str(Path.cwd() / request["path"])
        tests = request["tests"] or list(self._items)
        items = [self._items[test] for test in tests if test in self._items]
        codes: dict[CodeType, CodeType] | None = {}
        if path in self._sources:
            codes = changed_codes(self._sources[path], Path(path).read_bytes(), path)
        if len(items) < len(tests):
            return {"noticed": None}
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.setsid()
                resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
                if codes is not None:
                    exchanged(self._functions.get(path, []), codes)
                elif not rebound(path, Path(path).read_bytes()):
                    items = []
                os.write(writing, _first_failure(self._session, items).encode() or b"-")
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            is_ready = select.select([stream], [], [], SECONDS)[0]
            words = stream.read1().decode() if is_ready else "no end"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if words == "-":
            return {"noticed": None if codes is None else ""}
        return {"noticed": words or "no end, or the end of the process"}


def _first_failure(session: pytest.Session, items: list[pytest.Item]) -> str:
    """Run tests until one fails; return its name, "" if none does in TEST_SECONDS."""
    begun = time.process_time()
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
        if time.process_time() - begun > TEST_SECONDS:
            break
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try mutations instead of running the tests."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    _Trials(session).run()
    return True
