"""Variables that the machines of one worker share: r:ivm_set and r:ivm_get."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

from whimbrel.engine.request import RequestEngine, worker_object

MAX_VARIABLE: Final = 1024 * 1024  # bytes of a string of ivm_set
MAX_VARIABLES: Final = 10_000  # of r:ivm_set in one worker
MAX_VARIABLE_BYTES: Final = 64 * 1024 * 1024  # of names and strings of these
_VARIABLES: Final = "lua-variables"  # key of `Engine.worker_state`


class SharedVariables:
    """Variables of r:ivm_set in one worker, for several threads.

    Key: name. Value: a number, string or boolean. Bound: `MAX_VARIABLES` of `MAX_VARIABLE_BYTES` together.
    Eviction: the variable that was set first.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._bytes = 0
        self._lock = Lock()

    def get(self, name: str) -> Any:
        """Return a value, None if there is none."""
        return self._values.get(name)

    def set(self, name: str, value: Any) -> None:
        """Set a value."""
        with self._lock:
            if name in self._values:
                self._remove(name)
            self._values[name] = value
            self._bytes += _size(name, value)
            while len(self._values) > MAX_VARIABLES or self._bytes > MAX_VARIABLE_BYTES:
                self._remove(next(iter(self._values)))

    def _remove(self, name: str) -> None:
        self._bytes -= _size(name, self._values.pop(name))


def _size(name: str, value: Any) -> int:
    return len(name) + (len(value) if isinstance(value, str) else 0)


def variables_of(engine: RequestEngine) -> SharedVariables:
    """Return the variables of this worker."""
    return worker_object(engine, _VARIABLES, SharedVariables)
