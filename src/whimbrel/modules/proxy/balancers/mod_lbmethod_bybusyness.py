"""mod_lbmethod_bybusyness (2.4): the member with the fewest requests in hand.

Manual: mod/mod_lbmethod_bybusyness.html.
"""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module


def register(configuration: Configuration) -> None:
    """Register the method."""
    from whimbrel.modules.proxy.mod_proxy_balancer.methods import ByBusyness  # only a server needs it

    configuration.modules.register_provider("lbmethod", "bybusyness", ByBusyness())


MODULE = Module(
    name="lbmethod_bybusyness_module",
    source="mod_lbmethod_bybusyness.c",
    versions=Versions.V24,
    register=(register,),
)
