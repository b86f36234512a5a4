"""Identity of the server and name look-ups: names, signature, tokens, administrator, HostnameLookups.

Manual: mod/core.html#servertokens and neighbours.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import ON_OFF, set_choice, set_flag, set_text

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


def copy_admins(configuration: Configuration) -> None:
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

DIR_SETTERS: Final[dict[str, Setter]] = {
    "ServerSignature": SIGNATURE,
    "UseCanonicalName": choice("use_canonical_name", "dns"),
    "UseCanonicalPhysicalPort": PHYSICAL_PORT,
    "HostnameLookups": choice("hostname_lookups", "double"),
    "QualifyRedirectURL": set_flag("qualify_redirect"),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "ServerAdmin": set_text("admin"),
    "ServerTokens": set_tokens,
    "StrictHostCheck": set_flag("strict_host_check"),
}
