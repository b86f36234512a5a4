"""mod_case_filter_in: the input filter CASEFILTERIN writes the letters of a request body in upper case.

It is httpd's example of an input filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter, add_input_filter
from whimbrel.modules.examples.mod_case_filter import insert_hook
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module, Provider
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

    name = "CASEFILTERIN"

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the body in upper case."""
        return UpperCaseBody(body)


CASE_FILTER_IN: Final = CaseFilterIn()


MODULE = Module(
    name="case_filter_in_module",
    source="mod_case_filter_in.c",
    server_config=CaseFilterInServerConfig,
    server_setters={
        "CaseFilterIn": set_flag("enabled"),
    },
    hooks=(insert_hook(CaseFilterInServerConfig, lambda r: add_input_filter(r, CASE_FILTER_IN)),),
    providers=(Provider("input_filter", "casefilterin", CASE_FILTER_IN),),
)
