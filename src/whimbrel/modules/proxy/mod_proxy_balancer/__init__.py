"""mod_proxy_balancer: balancers of mod_proxy, and the handler balancer-manager.

`balancer.py`: shared state; `election.py`, `sessions.py`: the choice of a member; `hooks.py`: what mod_proxy
calls; `manager.py`: the handler; `persistence.py`: BalancerPersist.
"""

from __future__ import annotations

from whimbrel.base.errors import PostConfigError
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.modules.proxy.mod_proxy.scheme import BALANCERS, SCHEMES
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER

_PACKAGE: Final = "whimbrel.modules.proxy.mod_proxy_balancer"
_MODULE: Final = "proxy_balancer"
_NO_SLOTS: Final = "AH01177: Failed to lookup provider 'shm' for 'slotmem': is mod_slotmem_shm loaded??"


def check_providers(configuration: Configuration) -> None:
    """Raise PostConfigError if slots or a method are missing (balancer_post_config)."""
    if not configuration.dialect.messages_24:
        return
    if configuration.provider("slotmem", "shm") is None:
        raise PostConfigError(_MODULE, ("emerg", _NO_SLOTS), repeat_in_log=True)
    for server in configuration.servers():
        for balancer in server.config(ProxyServerConfig).balancers:
            method = balancer.parameters.lbmethod
            if not configuration.loaded(f"lbmethod_{method}_module"):
                raise PostConfigError(
                    _MODULE,
                    ("crit", f"AH02432: Cannot find LB Method: {method}"),
                    ("emerg", "(22)Invalid argument: AH01183: Cannot share balancer"),
                    repeat_in_log=True,
                )


def register(configuration: Configuration) -> None:
    """Register what mod_proxy calls; a check of a configuration does without its imports."""
    from whimbrel.modules.proxy.mod_proxy_balancer.balancer import BalancerMemory, random_nonce
    from whimbrel.modules.proxy.mod_proxy_balancer.hooks import BalancerRequests, BalancerScheme
    from whimbrel.modules.proxy.mod_proxy_balancer.manager_22 import NONCE
    from whimbrel.modules.proxy.mod_proxy_balancer.methods import BY_NAME
    from whimbrel.modules.proxy.mod_proxy_balancer.status import section

    add = configuration.modules.register_provider
    add(SCHEMES, "balancer", BalancerScheme())
    add(BALANCERS, "default", BalancerRequests())
    add(BALANCERS, "memory", BalancerMemory())
    add("status", "proxy", section)
    if not configuration.dialect.messages_24:
        add(NONCE, "", random_nonce())
        for method in BY_NAME.values():
            add("lbmethod", method.name, method())


MODULE: Final = Module(
    name="proxy_balancer_module",
    source="mod_proxy_balancer.c",
    hooks=(Hook(HANDLER, lazy_maker(f"{_PACKAGE}.manager", "make_handler"), Order.FIRST),),
    register=(register,),
    post_config=(check_providers,),
)
