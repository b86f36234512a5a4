"""mod_lbmethod_bytraffic (2.4): the member with the least traffic for its load factor.

Manual: mod/mod_lbmethod_bytraffic.html.
"""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module


def register(configuration: Configuration) -> None:
    """Register the method."""
    from whimbrel.modules.proxy.mod_proxy_balancer.methods import ByTraffic  # only a server needs it

    configuration.modules.register_provider("lbmethod", "bytraffic", ByTraffic())


MODULE = Module(
    name="lbmethod_bytraffic_module",
    source="mod_lbmethod_bytraffic.c",
    versions=Versions.V24,
    register=(register,),
)
