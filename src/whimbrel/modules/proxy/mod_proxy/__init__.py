"""mod_proxy: forward and reverse proxy: configuration, mapping, choice of the back end.

Connections are made by scheme handlers, which other modules register (`scheme.py`). Manual:
mod/mod_proxy.html.
"""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.spec import Versions
from whimbrel.modules.proxy.mod_proxy.directives import DIR_SETTERS, SERVER_SETTERS
from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyServerConfig
from whimbrel.registry.module import Hook, Module, Order, Segment, lazy_maker
from whimbrel.registry.phases import (
    FIXUPS,
    HANDLER,
    MAP_TO_STORAGE,
    POST_READ_REQUEST,
    PRE_TRANSLATE_NAME,
    TRANSLATE_NAME,
)

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import RequestEngine

_PACKAGE: Final = "whimbrel.modules.proxy.mod_proxy"
_REWRITE: Final = ("mod_rewrite.c",)
_CANONICAL: Final = lazy_maker(f"{_PACKAGE}.canonical_url", "make_fixup")


def segments(configuration: Configuration) -> Iterable[Segment]:
    """Return the shared memory of workers (`worker_state.py`)."""
    from whimbrel.modules.proxy.mod_proxy import worker_state  # a check of a configuration has no workers

    return worker_state.segments(configuration)


async def begin_states(engine: RequestEngine) -> None:
    """Take the counters of this process over when it begins."""
    from whimbrel.modules.proxy.mod_proxy import worker_state

    worker_state.worker_states(engine)


MODULE: Final = Module(
    name="proxy_module",
    source="mod_proxy.c",
    dir_config=ProxyDirConfig,
    server_config=ProxyServerConfig,
    dir_setters=DIR_SETTERS,
    server_setters=SERVER_SETTERS,
    shared=(segments,),
    worker_begins=(begin_states,),
    hooks=(
        Hook(POST_READ_REQUEST, lazy_maker(f"{_PACKAGE}.url_hooks", "make_detect"), Order.FIRST),
        Hook(PRE_TRANSLATE_NAME, lazy_maker(f"{_PACKAGE}.url_hooks", "make_pre_translate")),
        Hook(
            TRANSLATE_NAME,
            lazy_maker(f"{_PACKAGE}.url_hooks", "make_translate"),
            Order.FIRST,
            after=_REWRITE,
        ),
        Hook(MAP_TO_STORAGE, lazy_maker(f"{_PACKAGE}.url_hooks", "make_map_to_storage"), Order.FIRST),
        # 2.4 puts the URLs of a directory's RewriteRules [P] in canonical form, too
        Hook(FIXUPS, _CANONICAL, Order.FIRST, after=_REWRITE, versions=Versions.V24),
        Hook(FIXUPS, _CANONICAL, Order.FIRST, before=_REWRITE, versions=Versions.V22),
        Hook(HANDLER, lazy_maker(f"{_PACKAGE}.handler", "make_handler"), Order.FIRST),
    ),
)
