"""Environment variables of a request, with one whose value is unique to the request and built at its first
read (UNIQUE_ID).
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from whimbrel.engine.deps.files import Dependencies

UNIQUE_ID_NAME: Final = "UNIQUE_ID"
IdFactory = Callable[[int, str], str]  # the value of a request by its second and the address that it came to


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
        """*known*: the variable is there, or has been taken away."""
        dict.update(self, found)
        self._files, self._give, self._second, self._address, self._known = (
            files,
            give,
            second,
            address,
            known,
        )

    def _with_id(self) -> LazyEnv:
        """Return all variables, `OWN` included."""
        self._files.is_per_request = True
        if not self._known:
            self._known = True
            dict.setdefault(self, UNIQUE_ID_NAME, self._give(self._second, self._address))
        return self

    def _own(self) -> str:
        return dict.__getitem__(self._with_id(), UNIQUE_ID_NAME)

    def for_request(self, files: Dependencies, second: int) -> LazyEnv:
        """Return these variables for another request that gets the same response."""
        return LazyEnv(
            {name: value for name, value in dict.items(self) if name != UNIQUE_ID_NAME},
            files,
            self._give,
            second,
            self._address,
        )

    def over(self, beneath: Mapping[str, str]) -> LazyEnv:
        """Return *beneath*, overridden by these variables."""
        return LazyEnv(
            {**beneath, **dict(dict.items(self))},
            self._files,
            self._give,
            self._second,
            self._address,
            known=self._known,
        )

    # as a dict ------------------------------------------------------------------------------------
    def get(self, name: str, default: Any = None) -> Any:
        found = dict.get(self, name)
        if found is not None:
            if name == UNIQUE_ID_NAME:
                self._files.is_per_request = True
            return found
        low = name.lower()
        if low == UNIQUE_ID_NAME.lower() and not self._known:
            return self._own()
        return next((value for key, value in dict.items(self) if key.lower() == low), default)

    def __getitem__(self, name: str) -> str:
        return self._own() if name == UNIQUE_ID_NAME else dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (name == UNIQUE_ID_NAME and not self._known)

    def __len__(self) -> int:
        return dict.__len__(self) + (not self._known)

    def __setitem__(self, name: str, value: str) -> None:
        if name == UNIQUE_ID_NAME:
            self._known = True
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def pop(self, name: str, *default: Any) -> Any:
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
