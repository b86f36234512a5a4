"""mod_unixd: user, group and root directory of workers.

httpd refuses a start without User only when it starts (AH00136); this module reads the lines. Manual:
mod/mod_unixd.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.modules.mpm.settings import GROUP, SUEXEC, USER, on_process, set_chroot
from whimbrel.registry.module import Module

MODULE = Module(
    name="unixd_module",
    source="mod_unixd.c",
    versions=Versions.V24,
    setters={
        "User": USER,
        "Group": GROUP,
        "ChrootDir": on_process(set_chroot),
        "Suexec": SUEXEC,
    },
)
