"""Settings of mod_php: php_value and its relatives, merged as libphp does (apache_config.c)."""

from __future__ import annotations

from typing import NamedTuple

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, lower, strip
from whimbrel.directives.command import Command
from whimbrel.modules.support.setters import own
from whimbrel.registry.settings import setting


class IniValue(NamedTuple):
    """A value; *is_admin*: scripts and inner sections cannot change it; *in_htaccess*: a .htaccess has it."""

    value: str
    is_admin: bool
    in_htaccess: bool = False


Settings = dict[str, IniValue]


def merge_settings(base: Settings, over: Settings) -> Settings:
    """Return *base* with the values of *over*, except where an admin value would be replaced by another."""
    out = dict(base)
    for name, value in over.items():
        present = out.get(name)
        if present is None or value.is_admin or not present.is_admin:
            out[name] = value
    return out


@dataclass(slots=True)
class PhpDirConfig:
    """Per-directory settings: configuration values of PHP by name."""

    ini: Settings = setting(make=dict, merge=merge_settings)


@dataclass(slots=True)
class PhpServerConfig:
    """Settings of the whole server: the directory of php.ini, "" for PHP's own."""

    ini_dir: str = setting("")


def _set(cmd: Command, conf: PhpDirConfig, name: str, value: str, *, is_admin: bool) -> None:
    text = "" if lower(value) == "none" else value
    conf.ini = {**own(conf, "ini", dict), name: IniValue(text, is_admin, cmd.in_htaccess)}


def set_value(cmd: Command, conf: PhpDirConfig, words: list[str]) -> None:
    """php_value: set a value; ``none`` is the empty text."""
    _set(cmd, conf, words[0], words[1], is_admin=False)


def set_admin_value(cmd: Command, conf: PhpDirConfig, words: list[str]) -> None:
    """php_admin_value: set a value that nothing else changes."""
    _set(cmd, conf, words[0], words[1], is_admin=True)


def _flag(word: str) -> str:
    return "1" if lower(word) == "on" or word == "1" else "0"


def set_flag(cmd: Command, conf: PhpDirConfig, words: list[str]) -> None:
    """php_flag: set a boolean value; anything but On and 1 is off."""
    _set(cmd, conf, words[0], _flag(words[1]), is_admin=False)


def set_admin_flag(cmd: Command, conf: PhpDirConfig, words: list[str]) -> None:
    """php_admin_flag: set a boolean value that nothing else changes."""
    _set(cmd, conf, words[0], _flag(words[1]), is_admin=True)


def set_ini_dir(cmd: Command, _conf: PhpServerConfig, words: list[str]) -> None:
    """PHPINIDir: the first one holds for the whole server."""
    conf = cmd.main_server(PhpServerConfig)
    if type(conf.ini_dir) is str and conf.ini_dir:
        raise ConfigError(
            "Only first PHPINIDir directive honored per configuration tree - subsequent ones ignored"
        )
    conf.ini_dir = cmd.server_path(words[0])


def is_on(settings: Settings, name: str, default: bool) -> bool:
    """Return a boolean value as PHP reads it."""
    value = settings.get(name)
    if value is None:
        return default
    text = lower(strip(value.value))
    return text in ("on", "yes", "true") or atoi(text) != 0
