"""mod_slotmem_shm (2.4): slots in memory that all processes share; mod_proxy_balancer requires its provider.

The slots themselves are segments (`Module.shared`).
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module, Provider, Segment

MODULE = Module(
    name="slotmem_shm_module",
    source="mod_slotmem_shm.c",
    versions=Versions.V24,
    providers=(Provider("slotmem", "shm", Segment),),
)
