"""mod_slotmem_plain (2.4): slots in the memory of one process, for modules that need no shared state.

No module of httpd uses the provider; loading the module adds its name to the registry. Manual:
mod/mod_slotmem_plain.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module, Provider

MODULE = Module(
    name="slotmem_plain_module",
    source="mod_slotmem_plain.c",
    versions=Versions.V24,
    providers=(Provider("slotmem", "plain", list),),
)
