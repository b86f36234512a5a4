"""mod_systemd: notifications to the service manager.

The module has no directives; server/master/systemd.py checks whether it is loaded. Manual:
mod/mod_systemd.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module

MODULE = Module(name="systemd_module", source="mod_systemd.c", versions=Versions.V24)
