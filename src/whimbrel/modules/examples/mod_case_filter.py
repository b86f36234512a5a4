"""mod_case_filter: the output filter CASEFILTER writes the letters of a response in upper case.

It is httpd's example of an output filter, and the one of CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.output.filter import OutputFilter, Transform, add_output_filter
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CaseFilterServerConfig:
    """Per-server settings; *enabled*: CaseFilter."""

    enabled: bool = setting(False)


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

    __slots__ = ()
    name = "CASEFILTER"

    def begin(self, r: Request) -> Transform:
        """Return the transform."""
        return UPPER_CASE


UPPER_CASE: Final = UpperCase()
CASE_FILTER: Final = CaseFilter()


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filter to all responses of a server; None under CaseFilter Off."""
    if not scope.server_config(CaseFilterServerConfig).enabled:
        return None

    def insert(r: Request) -> HookStatus:
        add_output_filter(r, CASE_FILTER)
        return OK

    return CompiledHook(insert)


MODULE = Module(
    name="case_filter_module",
    source="mod_case_filter.c",
    server_config=CaseFilterServerConfig,
    server_setters={
        "CaseFilter": set_flag("enabled"),
    },
    hooks=(Hook(INSERT_FILTER, make_insert, Order.MIDDLE),),
    providers=(Provider("output_filter", "casefilter", CASE_FILTER),),
)
