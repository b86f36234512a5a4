"""mod_unixd: user, group and root directory of workers.

httpd refuses a start without User only when it starts (AH00136); this module reads the lines. Manual:
mod/mod_unixd.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.mpm.settings import GROUP, SUEXEC, USER, on_process, set_chroot
from whimbrel.registry.module import Module

MODULE = Module(
    name="unixd_module",
    source="mod_unixd.c",
    versions=Versions.V24,
    directives=(
        Directive(
            name="User",
            args=Args.TAKE1,
            where=Context.RSRC_CONF,
            apply=USER,
            record=ConfigScope.NONE,
            help="Effective user id for this server",
        ),
        Directive(
            name="Group",
            args=Args.TAKE1,
            where=Context.RSRC_CONF,
            apply=GROUP,
            record=ConfigScope.NONE,
            help="Effective group id for this server",
        ),
        Directive(
            name="ChrootDir",
            args=Args.TAKE1,
            where=Context.RSRC_CONF,
            apply=on_process(set_chroot),
            record=ConfigScope.NONE,
            help="The directory to chroot(2) into",
        ),
        Directive(
            name="Suexec",
            args=Args.FLAG,
            where=Context.RSRC_CONF,
            apply=SUEXEC,
            record=ConfigScope.NONE,
            help="Enable or disable suEXEC support",
        ),
    ),
)
