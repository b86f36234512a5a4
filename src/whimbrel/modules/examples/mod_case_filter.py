"""mod_case_filter: the output filter CASEFILTER writes the letters of a response in upper case.

It is httpd's example of an output filter, and the one of CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.output.filter import OutputFilter, Transform, add_output_filter
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CaseFilterServerConfig:
    """Per-server settings; *enabled*: CaseFilter."""

    enabled: bool = setting(False)


class Switch(Protocol):
    """Per-server settings of a filter that all requests get."""

    enabled: bool


class UpperCase(Transform):
    """Upper case of ASCII letters."""

    __slots__ = ()

    def feed(self, data: bytes) -> bytes:
        """Return *data* in upper case."""
        return data.upper()

    def flush(self) -> bytes:
        """Hold nothing."""
        return b""

    def end(self, data: bytes) -> bytes:
        """Return *data* in upper case."""
        return data.upper()


class CaseFilter(OutputFilter):
    """Output filter CASEFILTER; it needs no state, so one transform serves all requests."""

    name = "CASEFILTER"

    def begin(self, r: Request) -> Transform:
        """Return the transform."""
        return UPPER_CASE


UPPER_CASE: Final = UpperCase()
CASE_FILTER: Final = CaseFilter()


def insert_hook(kind: type[Switch], add: Callable[[Request], None]) -> Hook:
    """Return the hook that calls *add* for the requests of a server whose record of *kind* is enabled."""

    def make(scope: Scope) -> CompiledHook | None:
        if not scope.server_config(kind).enabled:
            return None

        def insert(r: Request) -> HookStatus:
            add(r)
            return OK

        return CompiledHook(insert)

    return Hook(INSERT_FILTER, make)


MODULE = Module(
    name="case_filter_module",
    source="mod_case_filter.c",
    server_config=CaseFilterServerConfig,
    server_setters={
        "CaseFilter": set_flag("enabled"),
    },
    hooks=(insert_hook(CaseFilterServerConfig, lambda r: add_output_filter(r, CASE_FILTER)),),
    providers=(Provider("output_filter", "casefilter", CASE_FILTER),),
)
