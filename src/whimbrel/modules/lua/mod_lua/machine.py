"""Lua machines: one interpreter with its libraries, scripts and the facade of a request (lua_vmprep.c).

A machine runs one call at a time, in a thread of the worker. Scripts are trusted as the configuration is;
they see no object of Python beyond the functions behind `r`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from whimbrel.base.c_heap import trim_heap
from whimbrel.modules.lua.mod_lua.arguments import GONE, LuaError
from whimbrel.modules.lua.mod_lua.fields import TABLES
from whimbrel.modules.lua.mod_lua.functions import METHODS, PLAIN
from whimbrel.modules.lua.mod_lua.request_api import RequestApi
from whimbrel.modules.lua.mod_lua.settings import LuaFunction

LARGE: Final = 16 * 1024 * 1024  # bytes of a machine after which memory is returned to the kernel
HOOK_COUNT: Final = 10_000  # instructions between two looks at the clock
MAX_BYTES: Final = 256 * 1024 * 1024  # memory of one machine; a script that needs more fails

PATH: Final = (
    "/usr/local/share/lua/5.3/?.lua;/usr/local/share/lua/5.3/?/init.lua;/usr/local/lib/lua/5.3/?.lua;"
    "/usr/local/lib/lua/5.3/?/init.lua;/usr/share/lua/5.3/?.lua;/usr/share/lua/5.3/?/init.lua;./?.lua;"
    "./?/init.lua"
)
CPATH: Final = (
    "/usr/local/lib/lua/5.3/?.so;/usr/lib/x86_64-linux-gnu/lua/5.3/?.so;/usr/lib/lua/5.3/?.so;"
    "/usr/local/lib/lua/5.3/loadall.so;./?.so"
)
CONSTANTS: Final = {
    "OK": 0,
    "DECLINED": -1,
    "DONE": -2,
    "HTTP_MOVED_TEMPORARILY": 302,
    "PROXYREQ_NONE": 0,
    "PROXYREQ_PROXY": 1,
    "PROXYREQ_REVERSE": 2,
    "PROXYREQ_RESPONSE": 3,
    "AUTHZ_DENIED": 0,
    "AUTHZ_GRANTED": 1,
    "AUTHZ_NEUTRAL": 2,
    "AUTHZ_GENERAL_ERROR": 3,
    "AUTHZ_DENIED_NO_USER": 4,
}
"""The table `apache2`, without its version."""


class LoadProblem(Exception):
    """A script that cannot be loaded; the text is Lua's.

    Attributes:
        has_run: True if it was compiled, and its text ended with an error.
    """

    def __init__(self, text: str, *, has_run: bool = False) -> None:
        super().__init__(text)
        self.has_run = has_run


def _text(name: str) -> str:
    """Return a file of this directory; the master reads it, as a worker may have no right to."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="latin-1") as file:
        return file.read()


PRELUDE: Final = _text("prelude.lua")
BIT32: Final = _text("bit32.lua")


def _no_attribute(_object: object, _name: object, _is_setting: bool) -> str:
    raise AttributeError("no attribute of the server's objects can be used")


def new_runtime() -> Any:
    """Return an interpreter of the version that httpd is linked with, without access to Python.

    Raises ImportError: lupa is not installed.
    """
    from lupa.lua53 import LuaRuntime

    runtime = LuaRuntime(
        encoding="latin-1",
        unpack_returned_tuples=True,
        register_eval=False,
        register_builtins=False,
        attribute_filter=_no_attribute,
        max_memory=MAX_BYTES,
    )
    runtime.execute("python = nil; package.loaded.python = nil")
    return runtime


def compile_problem(function: LuaFunction) -> str:
    """Return why the text of an inline section does not compile, "" if it does."""
    load = new_runtime().globals().load
    loaded = load(function.text, "@" + function.file)
    return str(loaded[1]) if isinstance(loaded, tuple) else ""


class _Left(NamedTuple):
    """What the text of an inline section without a name returned, or the error with which it ended."""

    value: Any


class Machine:
    """An interpreter with one script; `api` is that of the request whose call it runs.

    Attributes:
        stamp: modification time and size of the file that was loaded.
        api: the functions behind `r` at present.
        is_over: a script was ended because its client had gone; the machine runs no further call.
    """

    api: RequestApi

    def __init__(self, file: str, paths: tuple[str, ...], cpaths: tuple[str, ...], version: str) -> None:
        lua = new_runtime()
        self._lua = lua
        self.stamp: tuple[int, int] | None = None
        self.is_over = False
        variables = lua.globals()
        package = variables.package
        directory = os.path.dirname(file)
        package.path = f"{PATH.replace('./?.lua', f'{directory}/?.lua')};{';'.join(paths)}"
        package.cpath = f"{CPATH.replace('./?.so', f'{directory}/?.so')};{';'.join(cpaths)}"
        variables.bit32 = lua.execute(BIT32)
        package.loaded.bit32 = variables.bit32
        # httpd's table `apache2` is that of the loaded modules; `require "apache2"` returns an empty one
        loaded = package.loaded
        variables.apache2 = loaded
        for name, value in {**CONSTANTS, "version": version, "apache2": lua.table()}.items():
            loaded[name] = value
        self._run, self._start, self._request, self._trace = lua.execute(
            PRELUDE,
            self._call,
            self._get,
            self._set,
            self._table_get,
            self._table_set,
            lambda name, kind: self.api.note_use(name, kind),
            self._must_end,
            GONE,
            HOOK_COUNT,
            " ".join(METHODS),
            " ".join(PLAIN),
            " ".join(TABLES),
        )
        self._variables = variables
        self._left = _Left(None)

    @property
    def size(self) -> int:
        """The bytes that the interpreter uses."""
        return int(self._lua.get_memory_used(total=True) or 0)

    # functions that Lua calls ---------------------------------------------------------------------
    def _call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        return _protected(lambda: self.api.call(self, name, arguments))

    def _get(self, name: str) -> tuple[Any, ...]:
        return _protected(lambda: (self.api.get(name),))

    def _set(self, name: str, value: Any) -> tuple[Any, ...]:
        return _protected(lambda: self.api.set(name, value))

    def _table_get(self, table: str, key: Any) -> tuple[Any, ...]:
        return _protected(lambda: (self.api.table_get(table, key),))

    def _table_set(self, table: str, key: Any, value: Any) -> tuple[Any, ...]:
        return _protected(lambda: self.api.table_set(table, key, value))

    def close(self) -> None:
        """Free the interpreter: it and the functions that it calls refer to each other, and the collector of
        such cycles runs seldom.
        """
        is_large = self.size > LARGE
        vars(self).clear()
        if is_large:
            trim_heap()  # each thread has an arena of its own, which would keep free pages

    def serve(self, api: RequestApi) -> None:
        """Answer the functions of `r` by *api* from now on."""
        self.api = api
        self._trace(api.is_traced)

    def _must_end(self) -> bool:
        """Return True if the script has to end; called once a second at most."""
        self.is_over = self.is_over or self.api.is_over()
        return self.is_over

    # functions of the server ----------------------------------------------------------------------
    def table(self, content: Any) -> Any:
        """Return a Lua table with the content of a dictionary or sequence."""
        return self._lua.table_from(content)

    def load(self, function: LuaFunction) -> None:
        """Load the script of *function*; its text runs. Raises LoadProblem."""
        if function.text is None:
            loaded = self._variables.loadfile(function.file)
        else:
            loaded = self._variables.load(function.text, "@" + function.file)
        if isinstance(loaded, tuple):
            raise LoadProblem(str(loaded[1]))
        if not function.name:
            self._left = _Left(self._guarded(self._variables.pcall, loaded)[1])
            return
        is_run, problem = self._guarded(self._variables.pcall, loaded)
        if not is_run:
            raise LoadProblem(text_of(problem), has_run=True)

    def function(self, function: LuaFunction) -> Any:
        """Return the global function, None if there is none.

        Of an inline section without a name it is what the text returned or failed with: httpd calls that.
        """
        if not function.name:
            self._variables.r = self._request
            return self._left
        found = self._variables[function.name]
        return found if self._variables.type(found) == "function" else None

    def run(self, function: Any, *arguments: str) -> tuple[bool, Any]:
        """Call a function with the request and *arguments*; return True and the result, or a message."""
        if isinstance(function, _Left):
            return self._guarded(self._variables.pcall, function.value, None)
        return self._guarded(self._run, function, *arguments)

    def _guarded(self, call: Any, *arguments: Any) -> tuple[bool, Any]:
        """Return the results of a protected call; of one that was ended outside of its protection too."""
        try:
            return _pair(call(*arguments))
        except Exception as problem:
            if not self.is_over:
                raise
            return False, str(problem)

    def start(self, function: Any) -> Callable[[str | None], tuple[bool, Any, bool]]:
        """Return the function that resumes a coroutine of *function* with the value of `bucket`.

        It returns whether it ran without error, what it yielded or the message, and whether it has ended.
        """
        resume = self._start(function)
        variables = self._variables

        def step(bucket: str | None) -> tuple[bool, Any, bool]:
            variables.bucket = bucket
            try:
                state, is_run, *values = resume()
            except Exception as problem:
                if not self.is_over:
                    raise
                return False, str(problem), True
            return is_run, values[0] if values else None, state == "dead"

        return step


def _protected(work: Callable[[], Iterable[Any]]) -> tuple[Any, ...]:
    """Return True and the results of *work*, or False and the message of its error."""
    try:
        return (True, *work())
    except LuaError as problem:
        return False, str(problem)


def _pair(found: Any) -> tuple[bool, Any]:
    if not isinstance(found, tuple):
        return bool(found), None
    return bool(found[0]), found[1]


def text_of(problem: Any) -> str:
    """Return the text of an error value (lua_tostring): a string or a number."""
    return str(problem) if isinstance(problem, (str, int, float)) else "(null)"
