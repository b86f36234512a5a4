"""What the modules of balancing methods without directives have in common."""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module


def method_module(name: str) -> Module:
    """Return the module that registers the method *name*."""

    def register(configuration: Configuration) -> None:
        from whimbrel.modules.proxy.mod_proxy_balancer.methods import BY_NAME  # only a server needs it

        configuration.modules.register_provider("lbmethod", name, BY_NAME[name]())

    return Module(
        name=f"lbmethod_{name}_module",
        source=f"mod_lbmethod_{name}.c",
        versions=Versions.V24,
        register=(register,),
    )
