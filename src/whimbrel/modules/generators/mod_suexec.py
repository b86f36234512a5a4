"""mod_suexec: the user and the group that run the programs of a server.

Manual: mod/mod_suexec.html, suexec.html.
"""

from __future__ import annotations

from whimbrel.base.errors import MissingResource
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import MpmConfig, group_id, user_id
from whimbrel.directives.command import Command
from whimbrel.modules.mpm.settings import unknown
from whimbrel.modules.support.cgi.suexec import SuexecServerConfig, disabled_now, enable, wrapper_of
from whimbrel.registry.module import Module


def set_user_group(cmd: Command, conf: SuexecServerConfig, words: list[str]) -> None:
    """SuexecUserGroup: existing names, or ``#number``; 2.2 only warns where suEXEC is disabled."""
    reason = disabled_now(cmd.main_server(MpmConfig), cmd.dialect)
    if reason and cmd.dialect.messages_24:
        text = f"SuexecUserGroup configured, but suEXEC is disabled: {reason}"
        raise MissingResource(text, is_accepted_by_22=True)
    if reason:
        cmd.warn("Warning: SuexecUserGroup directive requires SUEXEC wrapper.", level="startup")
        return
    user = user_id(words[0])
    group = group_id(words[1])
    if user is None:
        raise unknown(cmd, "AH00543", f"bad user name {words[0]}")
    if group is None:
        raise unknown(cmd, "AH00544", f"bad group name {words[1]}")
    conf.user = str(user & 0xFFFFFFFF)
    conf.group = str(group & 0xFFFFFFFF)


def report(configuration: Configuration) -> None:
    """Enable suEXEC, and let the first start log that."""
    if enable(configuration):
        line = ("AH01232", f"suEXEC mechanism enabled (wrapper: {wrapper_of(configuration.dialect)})")
        configuration.modules.register_provider("first_notice", "suexec", line)


MODULE = Module(
    name="suexec_module",
    source="mod_suexec.c",
    server_config=SuexecServerConfig,
    server_setters={
        "SuexecUserGroup": set_user_group,
    },
    post_config=(report,),
)
