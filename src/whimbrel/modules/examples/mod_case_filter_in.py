"""mod_case_filter_in: the input filter CASEFILTERIN writes the letters of a request body in upper case.

It is httpd's example of an input filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter, add_input_filter
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CaseFilterInServerConfig:
    """Per-server settings; *enabled*: CaseFilterIn."""

    enabled: bool = setting(False)


class UpperCaseBody(FilteredBody):
    """Request body with ASCII letters in upper case."""

    __slots__ = ()
    preserves_length = True

    async def read(self) -> bytes:
        """Return the next bytes in upper case."""
        return (await self.read_source()).upper()


class CaseFilterIn(InputFilter):
    """Input filter CASEFILTERIN."""

    __slots__ = ()
    name = "CASEFILTERIN"

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the body in upper case."""
        return UpperCaseBody(body)


CASE_FILTER_IN: Final = CaseFilterIn()


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filter to all requests of a server; None under CaseFilterIn Off."""
    if not scope.server_config(CaseFilterInServerConfig).enabled:
        return None

    def insert(r: Request) -> HookStatus:
        add_input_filter(r, CASE_FILTER_IN)
        return OK

    return CompiledHook(insert)


MODULE = Module(
    name="case_filter_in_module",
    source="mod_case_filter_in.c",
    server_config=CaseFilterInServerConfig,
    server_setters={
        "CaseFilterIn": set_flag("enabled"),
    },
    hooks=(Hook(INSERT_FILTER, make_insert, Order.MIDDLE),),
    providers=(Provider("input_filter", "casefilterin", CASE_FILTER_IN),),
)
