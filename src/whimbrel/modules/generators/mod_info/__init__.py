"""mod_info: the configuration of the server as a page, handler server-info.

page.py writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.support.setters import add_values
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import prepended, setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_GET = 0
BUFFER = 8192  # a longer page is sent before its length is known


@dataclass(slots=True)
class InfoServerConfig:
    """AddModuleInfo: (source file of a module, HTML); a virtual host's come before the main server's."""

    more: list[tuple[str, str]] = setting(make=list, merge=prepended)


def keep_lines(configuration: Configuration) -> None:
    """Keep the tree of directives, which the page shows, while the server runs."""
    configuration.keeps_tree = True


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler server-info."""
    from whimbrel.modules.generators.mod_info.page import InfoPage  # a start needs no page

    more = scope.server_config(InfoServerConfig).more

    def handler(r: Request) -> HookStatus:
        if r.handler != "server-info":
            return DECLINED
        r.allowed |= 1 << _GET
        if r.method_number != _GET:
            return DECLINED
        r.content_type = "text/html; charset=ISO-8859-1"
        text = InfoPage(r, more).text()
        r.chunked = len(text) > BUFFER
        r.write(text)
        return OK

    return CompiledHook(handler, handlers=frozenset(("server-info",)))


MODULE = Module(
    name="info_module",
    source="mod_info.c",
    server_config=InfoServerConfig,
    server_setters={
        "AddModuleInfo": add_values("more", lambda _cmd, words: [(words[0], words[1])]),
    },
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
    post_config=(keep_lines,),
)
