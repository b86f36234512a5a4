"""Identity of the server and name look-ups: names, signature, tokens, administrator, HostnameLookups.

Manual: mod/core.html#servertokens and neighbours.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Any
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.directives.command import Command
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.core.file_options import ON_OFF
from whimbrel.modules.support.setters import Setter, global_only, not_in_limit22, set_choice, set_flag

TOKENS = {
    "prod": "prod",
    "productonly": "prod",
    "major": "major",
    "minor": "minor",
    "min": "min",
    "minimal": "min",
    "os": "os",
    "full": "full",
}


def set_tokens(cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set ServerTokens: 2.2 treats every unknown word as Full."""
    word = words[0].lower()
    if word not in TOKENS and not cmd.dialect.lenient_values:
        raise ConfigError(
            "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', 'OS', or 'Full'"
        )
    conf.server_tokens = TOKENS.get(word, "full")


def set_admin(_cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set ServerAdmin: any text."""
    conf.admin = words[0]


def copy_admins(configuration: Any) -> None:
    """Copy the set or inherited ServerAdmin to every server."""
    for server in configuration.servers():
        server.admin = server.value(CoreServerConfig, "admin")


def choice(name: str, third: str) -> Setter:
    """Return a setter of off, on, or a third keyword: 0, 1, 2."""
    return set_choice(name, {"off": 0, "on": 1, third: 2}, f"parameter must be 'on', 'off', or '{third}'")


SIGNATURE = set_choice(
    "server_signature", {"off": 0, "on": 1, "email": 2}, "ServerSignature: use one of: off | on | email"
)
PHYSICAL_PORT = set_choice("use_canonical_port", ON_OFF, "parameter must be 'on' or 'off'")

DIRECTIVES: tuple[AnyDirective, ...] = (
    Directive(
        name="ServerAdmin",
        args=Args.TAKE1,
        where=Context.RSRC_CONF,
        apply=not_in_limit22(set_admin),
        record=ConfigScope.SERVER,
        help="The email address of the server administrator",
    ),
    Directive(
        name="ServerSignature",
        args=Args.TAKE1,
        where=Context.OR_ALL,
        apply=SIGNATURE,
        help="En-/disable server signature (on|off|email)",
    ),
    Directive(
        name="ServerTokens",
        args=Args.TAKE1,
        where=Context.RSRC_CONF,
        apply=global_only(set_tokens),
        record=ConfigScope.SERVER,
        versions=Versions.V24,
        help="Determine tokens displayed in the Server: header - Min(imal), Major, Minor, Prod(uctOnly), "
        "OS, or Full",
    ),
    Directive(
        name="ServerTokens",
        args=Args.TAKE1,
        where=Context.RSRC_CONF,
        apply=global_only(set_tokens),
        record=ConfigScope.SERVER,
        versions=Versions.V22,
        help="Determine tokens displayed in the Server: header - Min(imal), OS or Full",
    ),
    Directive(
        name="UseCanonicalName",
        args=Args.TAKE1,
        where=Context.ACCESS_CONF | Context.RSRC_CONF,
        apply=not_in_limit22(choice("use_canonical_name", "dns")),
        help="How to work out the ServerName : Port when constructing URLs",
    ),
    Directive(
        name="UseCanonicalPhysicalPort",
        args=Args.TAKE1,
        where=Context.ACCESS_CONF | Context.RSRC_CONF,
        apply=not_in_limit22(PHYSICAL_PORT),
        help="Whether to use the physical Port when constructing URLs",
    ),
    Directive(
        name="HostnameLookups",
        args=Args.TAKE1,
        where=Context.ACCESS_CONF | Context.RSRC_CONF,
        apply=not_in_limit22(choice("hostname_lookups", "double")),
        help='"on" to enable, "off" to disable reverse DNS lookups, or "double" to enable double-reverse '
        "DNS lookups",
    ),
    Directive(
        name="StrictHostCheck",
        args=Args.FLAG,
        where=Context.RSRC_CONF,
        record=ConfigScope.SERVER,
        versions=Versions.V24,
        apply=set_flag("strict_host_check"),
        help="Controls whether a hostname match is required",
    ),
    Directive(
        name="QualifyRedirectURL",
        args=Args.FLAG,
        where=Context.OR_FILEINFO,
        apply=set_flag("qualify_redirect"),
        versions=Versions.V24,
        help="Controls whether the REDIRECT_URL environment variable is fully qualified",
    ),
)
