"""Where machines live: LuaScope and LuaCodeCache (lua_vmprep.c, ap_lua_get_lua_state)."""

from __future__ import annotations

import os
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.execute import root_relative
from whimbrel.engine.request import Request, worker_object
from whimbrel.modules.lua.mod_lua.machine import LoadProblem, Machine
from whimbrel.modules.lua.mod_lua.request_api import RequestApi
from whimbrel.modules.lua.mod_lua.settings import LuaDirConfig, LuaFunction, LuaServerConfig

MAX_IDLE: Final = 64  # machines of one worker that wait for their next call, those of all scopes together
MAX_IDLE_BYTES: Final = 64 * 1024 * 1024  # memory of these machines
_MACHINES: Final = "lua"  # key of `Engine.worker_state`
Key = tuple[Any, ...]


class Machines:
    """Idle machines of one worker.

    Key: owner, script and paths. Value: machines that no call uses. Bound: `MAX_IDLE` machines of
    `MAX_IDLE_BYTES` together. Eviction: the machine that was not used for the longest time.
    """

    def __init__(self) -> None:
        self._idle: dict[Key, list[Machine]] = {}

    def take(self, key: Key) -> Machine | None:
        """Remove and return an idle machine, None if there is none."""
        found = self._idle.get(key)
        if not found:
            return None
        machine = found.pop()
        if not found:
            del self._idle[key]
        return machine

    def put(self, key: Key, machine: Machine) -> None:
        """Keep a machine for the next call with *key*."""
        idle = self._idle
        idle[key] = [*idle.pop(key, ()), machine]
        sizes = [each.size for machines in idle.values() for each in machines]
        count = len(sizes)
        total = sum(sizes)
        while count > MAX_IDLE or total > MAX_IDLE_BYTES:
            oldest = next(iter(idle))
            evicted = idle[oldest].pop(0)
            total -= evicted.size
            evicted.close()
            count -= 1
            if not idle[oldest]:
                del idle[oldest]


def script_of(r: Request, function: LuaFunction) -> LuaFunction:
    """Return *function* with the absolute path of its file, relative to LuaRoot."""
    if function.text is not None:
        return function
    root = r.server.config(LuaServerConfig).root
    return LuaFunction(root_relative(root, function.file), function.name)


class Lease:
    """A machine for the calls of one phase, filter or handler; `release` returns it to its scope.

    Raises LoadProblem, in `load`, if the script cannot be loaded.
    """

    def __init__(self, r: Request, function: LuaFunction) -> None:
        conf: LuaDirConfig = r.dir_config(LuaDirConfig)
        self.function = function
        self._machines = worker_object(r.engine, _MACHINES, Machines)
        self._paths = conf.package_path, conf.package_cpath
        self._code_cache = conf.code_cache
        self._version = r.engine.server_field(r)
        self.scope = conf.scope.name
        owner: Any = None
        if self.scope == "request":
            owner = _owner(_first(r))
        elif self.scope == "conn":
            owner = r.connection.id
        self._key: Key = (self.scope, owner, function.file, function.text, *self._paths)
        self._machine: Machine | None = None
        if self.scope != "once":
            self._machine = self._machines.take(self._key)

    def load(self, api: RequestApi) -> Machine:
        """Return the machine with the script, for the request of *api*; in a thread."""
        stamp = self._stamp()
        machine = self._machine
        if machine is None:
            machine = Machine(self.function.file, *self._paths, self._version)
            self._machine = machine
        elif stamp is None or machine.stamp == stamp:
            machine.serve(api)
            return machine
        machine.serve(api)
        machine.load(self.function)
        machine.stamp = stamp
        return machine

    def _stamp(self) -> tuple[int, int] | None:
        """Return what changes with the file; None if a loaded script stays as it is."""
        if self.function.text is not None or self._code_cache == "forever":
            return None
        try:
            found = os.stat(to_bytes(self.function.file))
        except OSError as problem:
            raise LoadProblem(f"cannot open {self.function.file}") from problem
        return found.st_mtime_ns, found.st_size

    def release(self) -> None:
        """Return the machine."""
        machine = self._machine
        if machine is None:
            return
        if self.scope == "once" or machine.is_over:
            self.end_call()
        else:
            self._machine = None
            self._machines.put(self._key, machine)

    def end_call(self) -> None:
        """Close a machine that no other call uses, in the thread of the last call: that may take a while."""
        machine = self._machine
        if machine is not None and (self.scope == "once" or machine.is_over):
            self._machine = None
            machine.close()


def _owner(r: Request) -> object:
    """Return an object that stands for *r* alone; the number of id() may be that of a later request."""
    if r.request_config is None:
        r.request_config = {}
    return r.request_config.setdefault(_MACHINES, object())


def _first(r: Request) -> Request:
    """Return the request of the client."""
    while r.main is not None or r.prev is not None:
        r = r.main or r.prev or r
    return r
