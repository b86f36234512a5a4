"""Environment variables of a request: SetEnv behind earlier variables of the same name, and a variable whose
value is unique to the request and built at its first read (UNIQUE_ID).
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.base.numbers import upper

if TYPE_CHECKING:
    from whimbrel.engine.deps.files import Dependencies
    from whimbrel.engine.request import Request

UNIQUE_ID_NAME: Final = "UNIQUE_ID"
IdFactory = Callable[[int, str], str]  # the value of a request by its second and the address that it came to


class Hidden(NamedTuple):
    """A value behind an earlier one of the same name, *seen*.  httpd's table then holds both: a lookup finds
    the first, a program gets the last.
    """

    value: str
    seen: str


def append(r: Request, values: Mapping[str, str]) -> None:
    """Append *values* to the variables of *r*; those of names that are set are hidden (apr_table_overlay)."""
    env = r.env
    if not env:
        r.env = {**values}
        return
    names = env.names() if isinstance(env, LazyEnv) else env.keys()
    spelled = {upper(name): name for name in names}
    for name, value in values.items():
        before = spelled.setdefault(upper(name), name)
        if dict.__contains__(env, before):
            r.hidden_env = {**(r.hidden_env or {}), before: Hidden(value, env[before])}
        else:
            env[name] = value


def uncover(r: Request) -> None:
    """Restore the hidden values of variables unless they have changed since (apr_table_overlap)."""
    hidden, r.hidden_env = r.hidden_env, None
    if hidden:
        for name, (value, seen) in hidden.items():
            if r.env.get(name) == seen:
                r.env[name] = value


class LazyEnv(dict[str, str]):
    """`Request.env` with a variable `OWN` that *give* builds at the first read; the response is then
    uncacheable (`Dependencies.is_per_request`).

    Lookups ignore case, as in APR's tables; the keys of the dict are the names as set.
    """

    __slots__ = ("_address", "_files", "_give", "_known", "_second")
    folded = True

    def __init__(
        self,
        found: Mapping[str, str],
        files: Dependencies,
        give: IdFactory,
        second: int,
        address: str,
        *,
        known: bool = False,
    ) -> None:
        """*known*: the variable is there, or has been taken away; else a placeholder keeps its position."""
        dict.update(self, found)
        if not known:
            dict.setdefault(self, UNIQUE_ID_NAME, "")
        self._files = files
        self._give = give
        self._second = second
        self._address = address
        self._known = known

    def _with_id(self) -> LazyEnv:
        """Return all variables, `OWN` included."""
        self._files.is_per_request = True
        if not self._known:
            self._known = True
            dict.__setitem__(self, UNIQUE_ID_NAME, self._give(self._second, self._address))
        return self

    def _own(self) -> str:
        return dict.__getitem__(self._with_id(), UNIQUE_ID_NAME)

    def for_request(self, files: Dependencies, second: int) -> LazyEnv:
        """Return these variables for another request that gets the same response."""
        return LazyEnv(
            dict(dict.items(self)),
            files,
            self._give,
            second,
            self._address,
        )

    @property
    def is_pristine(self) -> bool:
        """Return True if the unique value was neither read nor replaced."""
        return not self._known

    def with_values(self, values: Mapping[str, str]) -> LazyEnv:
        """Return *values* with the unique value of this table, at its position in *values*."""
        known = self._known and dict.__contains__(self, UNIQUE_ID_NAME)
        own = {UNIQUE_ID_NAME: dict.__getitem__(self, UNIQUE_ID_NAME)} if known else {}
        return LazyEnv(
            {**values, **own}, self._files, self._give, self._second, self._address, known=self._known
        )

    def names(self) -> KeysView[str]:
        """Return the names, without a read of any value."""
        return dict.keys(self)

    # as a dict ------------------------------------------------------------------------------------
    def get(self, name: str, default: object = None) -> Any:
        low = name.lower()
        if low == UNIQUE_ID_NAME.lower() and not self._known:
            return self._own()
        found = dict.get(self, name)
        if found is not None:
            if name == UNIQUE_ID_NAME:
                self._files.is_per_request = True
            return found
        return next((value for key, value in dict.items(self) if key.lower() == low), default)

    def __getitem__(self, name: str) -> str:
        return self._own() if name == UNIQUE_ID_NAME else dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name)

    def __len__(self) -> int:
        return dict.__len__(self)

    def __setitem__(self, name: str, value: str) -> None:
        if name == UNIQUE_ID_NAME:
            self._known = True
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def pop(self, name: str, *default: object) -> Any:
        if name == UNIQUE_ID_NAME:
            self._with_id()
        return dict.pop(self, name, *default)

    def copy(self) -> LazyEnv:
        """Return a copy for a sub-request, which has the same unique value."""
        return LazyEnv(
            dict(dict.items(self)),
            self._files,
            lambda _second, _address: self._own(),
            0,
            "",
            known=self._known,
        )

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self._with_id())

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return dict.keys(self._with_id())

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]
        return dict.items(self._with_id())

    def values(self) -> ValuesView[str]:  # type: ignore[override]
        return dict.values(self._with_id())


class WatchedEnv(dict[str, str]):
    """`Request.env` behind the handler, with variables that are the values of fields.

    Attributes:
        has_read: one of the variables *values*, or all variables, were read: the response may depend on them.
    """

    __slots__ = ("_values", "has_read")

    def __init__(self, env: Mapping[str, str], values: frozenset[str]) -> None:
        super().__init__(env)
        self._values = values
        self.has_read = False

    def _note(self, name: object) -> None:
        if name in self._values:
            self.has_read = True

    def get(self, name: str, default: object = None) -> Any:
        self._note(name)
        return dict.get(self, name, default)

    def __getitem__(self, name: str) -> str:
        self._note(name)
        return dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        self._note(name)
        return dict.__contains__(self, name)

    def pop(self, name: str, *default: object) -> Any:
        self._note(name)
        return dict.pop(self, name, *default)

    # as a whole -----------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[str]:
        self.has_read = True
        return dict.__iter__(self)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        self.has_read = True
        return dict.keys(self)

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]
        self.has_read = True
        return dict.items(self)

    def values(self) -> ValuesView[str]:  # type: ignore[override]
        self.has_read = True
        return dict.values(self)

    def copy(self) -> dict[str, str]:
        self.has_read = True
        return dict(dict.items(self))
