"""Settings of mod_dav."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, fields
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.execute import state_of
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import set_read
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.modules.dav.mod_dav.provider import DavProvider

DEFAULT_PROVIDER: Final = "filesystem"
GROUP: Final = "dav"
HANDLER_NAME: Final = "dav-handler"
CHANGING_METHODS: Final = frozenset(("PUT", "DELETE", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK"))
"""Methods that change files, properties or locks; a tool that asks what a server would answer runs none."""
OFF_BELOW: Final = (
    "AH00578",
    '"DAV Off" cannot be used to turn off a subtree of a DAV-enabled location.',
)
ANOTHER_BELOW: Final = ("AH00579", "A subtree cannot specify a different DAV provider than its parent.")


@dataclass(slots=True)
class DavDirConfig:
    """Per-directory settings; `Dav Off` leaves the provider of the outer section in force, as in httpd.

    Attributes:
        min_timeout: seconds that a lock lasts at least.
        conflict: code and text of the log line about a section that cannot change the provider.
    """

    provider: DavProvider | None = setting(None)
    min_timeout: int = setting(0)
    depth_infinity: bool = setting(False)
    lock_discovery: bool = setting(True)
    base_path: str = setting("")
    conflict: tuple[str, str] | None = setting(None)

    def merge_onto(self, base: DavDirConfig) -> DavDirConfig:
        """Return this record merged on *base*, with what httpd logs about the providers of both."""
        conflict = None
        if base.provider is not UNSET and base.provider is not None:
            if self.provider is UNSET:
                conflict = OFF_BELOW
            elif self.provider is not base.provider:
                conflict = ANOTHER_BELOW
        values = {
            each.name: getattr(base if getattr(self, each.name) is UNSET else self, each.name)
            for each in fields(self)
        }
        return DavDirConfig(**{**values, "conflict": UNSET if conflict is None else conflict})


def set_provider(cmd: Command, conf: DavDirConfig, words: list[str]) -> None:
    """Set Dav: On, Off or the name of a provider."""
    word = words[0].lower()
    if word == "off":
        return
    name = DEFAULT_PROVIDER if word == "on" else words[0]
    provider = cmd.provider(GROUP, name)
    if provider is None:
        if state_of(cmd).has_provider_elsewhere(GROUP, name):
            return
        raise ConfigError(f"Unknown DAV provider: {name}")
    conf.provider = provider


def set_lock_database(name: str) -> Setter:
    """Return the setter of the file of locks."""

    def read(cmd: Command, word: str) -> str:
        try:
            return cmd.server_path(word)
        except ConfigError:
            raise ConfigError(f"Invalid {name} path {word}") from None

    return set_read("lock_database", read)
