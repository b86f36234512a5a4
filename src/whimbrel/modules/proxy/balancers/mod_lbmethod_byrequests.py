"""mod_lbmethod_byrequests (2.4): members get requests by their load factors.

Manual: mod/mod_lbmethod_byrequests.html.
"""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module


def register(configuration: Configuration) -> None:
    """Register the method."""
    from whimbrel.modules.proxy.mod_proxy_balancer.methods import ByRequests  # only a server needs it

    configuration.modules.register_provider("lbmethod", "byrequests", ByRequests())


MODULE = Module(
    name="lbmethod_byrequests_module",
    source="mod_lbmethod_byrequests.c",
    versions=Versions.V24,
    register=(register,),
)
