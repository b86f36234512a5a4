"""mod_systemd: the server tells the service manager how it is.

The module has no directives; that it is loaded is what server/systemd.py asks for.  Manual: mod/mod_systemd.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module

MODULE = Module(name="systemd_module", source="mod_systemd.c", versions=Versions.V24)
