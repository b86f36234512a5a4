"""Settings of mod_cache_disk (2.2: mod_disk_cache), and their setters."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.numbers import LONG_MAX
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import set_size
from whimbrel.registry.settings import UNSET, ReplacedRecord, setting

MAX_LETTERS: Final = 20  # characters of an entry's name that its directories may have
DEFAULT_LENGTH: Final = 2


@dataclass(slots=True)
class CacheDiskServerConfig(ReplacedRecord):
    """Per-server settings; a virtual host that sets one has no others of the main server."""

    root: str = setting("")
    levels: int = setting(0)  # 0: the default of the version
    length: int = setting(DEFAULT_LENGTH)


@dataclass(slots=True)
class CacheDiskDirConfig:
    """Per-directory settings: sizes in bytes; the time in milliseconds."""

    max_size: int = setting(1_000_000)
    min_size: int = setting(1)
    read_size: int = setting(0)
    read_time: int = setting(0)


def default_levels(*, is_22: bool) -> int:
    """Return the default of CacheDirLevels."""
    return 3 if is_22 else 2


def _tree(words: list[str], name: str, other: int) -> int:
    """Return the number in *words*; raises ConfigError where names would become too short."""
    value = atoi(words[0])
    if value < 1:
        raise ConfigError(f"{name} value must be an integer greater than 0")
    if value * other > MAX_LETTERS:
        raise ConfigError("CacheDirLevels*CacheDirLength value must not be higher than 20")
    return value


def set_levels(_cmd: Command, conf: CacheDiskServerConfig, words: list[str]) -> None:
    """CacheDirLevels."""
    length = DEFAULT_LENGTH if conf.length is UNSET else conf.length
    conf.levels = _tree(words, "CacheDirLevels", length)


def set_length(cmd: Command, conf: CacheDiskServerConfig, words: list[str]) -> None:
    """CacheDirLength."""
    levels = default_levels(is_22=cmd.dialect.cache_22) if conf.levels is UNSET else conf.levels
    conf.length = _tree(words, "CacheDirLength", levels)


_MESSAGE: Final = "{} argument must be a non-negative integer representing the {}"


def _sizes(*rows: tuple[str, str, str]) -> dict[str, Setter]:
    """Return setters of sizes by directive; each row is directive, field, what the message calls it."""
    return {name: set_size(field, 0, _MESSAGE.format(name, what), LONG_MAX - 1) for name, field, what in rows}


SIZE_SETTERS: Final = _sizes(
    ("CacheMinFileSize", "min_size", "min size of a file to cache in bytes."),
    ("CacheMaxFileSize", "max_size", "max size of a file to cache in bytes."),
)
READ_SETTERS: Final = _sizes(  # of 2.4
    ("CacheReadSize", "read_size", "max amount of data to cache in go."),
    ("CacheReadTime", "read_time", "max amount of time taken to cache in go."),
)
