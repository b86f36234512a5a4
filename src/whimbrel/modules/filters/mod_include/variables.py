"""Variables of a document, most of which are never read.

Variables of CGI programs (header fields, addresses, paths) are computed when one of their names is read. The
dependencies of the response are recorded for the name that is read. Manual: mod/mod_include.html#includevars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from whimbrel.engine.request import Request
from whimbrel.http.semantics.tracked_headers import TrackedHeaders

# Names that `fill` may add, besides HTTP_...
PROVIDED: Final = frozenset(
    (
        "CONTENT_TYPE",
        "CONTENT_LENGTH",
        "PATH",
        "LD_LIBRARY_PATH",
        "SERVER_SIGNATURE",
        "SERVER_SOFTWARE",
        "SERVER_NAME",
        "SERVER_ADDR",
        "SERVER_PORT",
        "REMOTE_HOST",
        "REMOTE_ADDR",
        "DOCUMENT_ROOT",
        "REQUEST_SCHEME",
        "CONTEXT_PREFIX",
        "CONTEXT_DOCUMENT_ROOT",
        "SERVER_ADMIN",
        "SCRIPT_FILENAME",
        "REMOTE_PORT",
        "REMOTE_USER",
        "AUTH_TYPE",
        "REDIRECT_URL",
        "REDIRECT_QUERY_STRING",
        "GATEWAY_INTERFACE",
        "SERVER_PROTOCOL",
        "REQUEST_METHOD",
        "QUERY_STRING",
        "REQUEST_URI",
        "SCRIPT_NAME",
        "PATH_INFO",
        "PATH_TRANSLATED",
        "DATE_LOCAL",
        "DATE_GMT",
        "LAST_MODIFIED",
        "DOCUMENT_URI",
        "DOCUMENT_ARGS",
        "DOCUMENT_PATH_INFO",
        "USER_NAME",
        "DOCUMENT_NAME",
        "QUERY_STRING_UNESCAPED",
    )
)
_FIELDS: Final = frozenset(("CONTENT_TYPE", "CONTENT_LENGTH"))
_UNCACHEABLE: Final = frozenset(("REMOTE_PORT", "REMOTE_HOST", "H2_STREAM_ID", "H2_STREAM_TAG"))


class _Lazy(str):
    """Marker of a value that is computed on access; programs get an empty string."""

    __slots__ = ()


LAZY: Final = _Lazy("")
LATER: Final = ("DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED", "USER_NAME")  # the names that `fill` adds as LAZY


class Clock(str):
    """Text of the current time: reading it makes the response depend on the clock."""

    __slots__ = ()


class Variables(dict[str, str]):
    """`Request.env` of a document, with case-insensitive names as in APR's tables.

    *fill* adds the variables of CGI programs. Until it is needed, changes are recorded and repeated after it:
    the order of the table is httpd's.
    """

    __slots__ = ("_before", "_changes", "_fill", "_names", "_r")
    folded = True

    def __init__(self, r: Request, before: Mapping[str, str], fill: Callable[[dict[str, str]], None]) -> None:
        super().__init__(before)
        self._r = r
        self._before = before
        self._fill: Callable[[dict[str, str]], None] | None = fill
        self._changes: list[tuple[str, str | None]] = []
        self._names = {name.upper(): name for name in before}

    # one name -----------------------------------------------------------------------------------
    def _spelled(self, name: str) -> str | None:
        upper = name.upper()
        if self._fill is not None and (upper in PROVIDED or upper.startswith("HTTP_")):
            self._filled()
        return self._names.get(upper)

    def get(self, name: str, default: object = None) -> Any:
        if self._fill is not None and name.upper() in LATER:
            return LAZY
        spelled = self._spelled(name)
        value = None if spelled is None else dict.__getitem__(self, spelled)
        self._note(name.upper(), value)
        return default if value is None else value

    def _note(self, upper: str, value: str | None) -> None:
        """Record the dependencies of a variable's value."""
        r = self._r
        if upper in _FIELDS or upper.startswith("HTTP_"):
            r.headers_in.items()
        elif upper == "REMOTE_ADDR":
            r.deps.on_client = True
        elif upper in _UNCACHEABLE or type(value) is Clock:
            r.set_uncacheable()

    def __getitem__(self, name: str) -> str:
        value: str | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __setitem__(self, name: str, value: str) -> None:
        spelled = self._spelled(name)
        if spelled is None:
            spelled = name
            self._names[name.upper()] = spelled
        dict.__setitem__(self, spelled, value)
        if self._fill is not None:
            self._changes.append((spelled, value))

    def keep(self, name: str, value: str) -> None:
        """Set a variable that was computed on access, without filling the table."""
        if self._fill is None:
            self[name] = value
        else:
            self._changes.append((name, value))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.pop(name)

    def pop(self, name: str, default: object = None) -> Any:
        """Remove a variable and return its value, *default* without one."""
        upper = name.upper()
        if self._fill is not None:
            self._changes.append((name, None))
        spelled = self._names.pop(upper, None)
        return default if spelled is None else dict.pop(self, spelled)

    def setdefault(self, name: str, default: Any = None) -> Any:
        value = self.get(name)
        if value is None:
            self[name] = default
            value = default
        return value

    def update(self, *others: Any, **more: str) -> None:
        for other in (*others, more):
            pairs: Iterable[tuple[str, str]] = other.items() if hasattr(other, "items") else other
            for name, value in pairs:
                self[name] = value

    # the table as a whole -----------------------------------------------------------------------
    def copy(self) -> Variables:
        """Return a copy for a sub-request; it records the same dependencies when it is read."""
        copied = Variables.__new__(Variables)
        dict.update(copied, dict.items(self))
        copied._r = self._r
        copied._before = self._before
        copied._fill = self._fill
        copied._changes = self._changes.copy()
        copied._names = self._names.copy()
        return copied

    def _filled(self) -> None:
        fill, self._fill = self._fill, None
        if fill is None:
            return
        table = dict(self._before)
        r = self._r
        fields = r.headers_in
        client = r.deps.on_client
        all_fields_used = isinstance(fields, TrackedHeaders) and fields.all_fields_used
        fill(table)
        r.deps.on_client = client
        if isinstance(fields, TrackedHeaders):
            fields.all_fields_used = all_fields_used
        dict.clear(self)
        dict.update(self, table)
        self._names = {name.upper(): name for name in table}
        changes, self._changes = self._changes, []
        for name, value in changes:
            if value is None:
                self.pop(name)
            else:
                self[name] = value

    def _all(self) -> None:
        """Record all dependencies: the whole table is read."""
        self._filled()
        self._r.set_uncacheable()

    def items(self) -> Any:
        self._all()
        return dict.items(self)

    def keys(self) -> Any:
        self._all()
        return dict.keys(self)

    def values(self) -> Any:
        self._all()
        return dict.values(self)

    def __iter__(self) -> Iterator[str]:
        self._all()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self._all()
        return dict.__len__(self)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        self._all()
        return dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other
