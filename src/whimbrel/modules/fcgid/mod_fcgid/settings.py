"""Settings of mod_fcgid and their setters."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from whimbrel.base.errors import ConfigError, MissingResource, apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits, lower, split, strip
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import own
from whimbrel.registry.settings import appended, overlaid, setting

ANY_SUFFIX = ""


class FcgidCommand(NamedTuple):
    """A program with arguments; *identity*: device and inode of its file."""

    command: tuple[str, ...]
    identity: tuple[int, int]
    is_virtual: bool = False


class CommandOptions(NamedTuple):
    """FcgidCmdOptions: what replaces the server's settings for one command."""

    connect_timeout: int = 3
    idle_timeout: int = 300
    io_timeout: int = 40
    most: int = 100
    lifetime: int = 3600
    max_requests: int = 0
    least: int = 3
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class FcgidServerConfig:
    """Per-server settings; times in seconds, sizes in bytes.

    Attributes:
        environment: FcgidInitialEnv. `pass_headers`: FcgidPassHeader. `options`: FcgidCmdOptions by path.
        max_request: FcgidMaxRequestLen. `in_memory`: FcgidMaxRequestInMem. `output_buffer`: accepted.
        idle_scan and the following ones: of the main server alone.
    """

    busy_timeout: int = setting(300)
    connect_timeout: int = setting(3)
    io_timeout: int = setting(40)
    idle_timeout: int = setting(300)
    lifetime: int = setting(3600)
    most: int = setting(100)
    least: int = setting(3)
    max_requests: int = setting(0)
    max_request: int = setting(131072)
    in_memory: int = setting(65536)
    output_buffer: int = setting(65536)
    environment: dict[str, str] = setting(make=dict, merge=overlaid)
    pass_headers: list[str] = setting(make=list, merge=appended)
    options: dict[str, CommandOptions] = setting(make=dict, merge=overlaid)
    idle_scan: int = setting(120)
    busy_scan: int = setting(120)
    error_scan: int = setting(3)
    zombie_scan: int = setting(3)
    spawn_score: int = setting(1)
    score_limit: int = setting(10)
    termination_score: int = setting(2)
    time_score: int = setting(1)
    max_processes: int = setting(1000)
    fix_pathinfo: int = setting(0)
    ipc_dir: str = setting("")
    table_file: str = setting("")


@dataclass(slots=True)
class FcgidDirConfig:
    """Per-directory settings: FcgidWrapper by suffix, and the programs that decide about access."""

    wrappers: dict[str, FcgidCommand] = setting(make=dict, merge=overlaid)
    authenticator: FcgidCommand | None = setting(None)
    authenticator_authoritative: bool = setting(True)
    authorizer: FcgidCommand | None = setting(None)
    authorizer_authoritative: bool = setting(True)
    access_checker: FcgidCommand | None = setting(None)
    access_checker_authoritative: bool = setting(True)


# setters -----------------------------------------------------------------------------------------
def set_max_request(cmd: Command, conf: FcgidServerConfig, words: list[str]) -> None:
    """FcgidMaxRequestLen: set a number of bytes."""
    if not is_digits(words[0]):
        raise ConfigError(f"{cmd.name} requires a non-negative integer.")
    conf.max_request = atoi(words[0])


def command_of(kind: str, text: str, *, is_virtual: bool = False) -> FcgidCommand:
    """Return the program of a command line. Raises ConfigError."""
    words = split(text)
    if not words:
        raise ConfigError(f"Invalid {lower(kind)} config")
    return FcgidCommand(tuple(words), _identity(kind, words[0]), is_virtual)


def _identity(kind: str, path: str) -> tuple[int, int]:
    try:
        found = os.stat(to_bytes(path))
    except OSError as problem:
        text = f"{kind} {path} cannot be accessed: {apr_error(problem)}"
        raise MissingResource(text, matters=True) from None
    return found.st_dev, found.st_ino


def set_wrapper(_cmd: Command, conf: FcgidDirConfig, words: list[str]) -> None:
    """FcgidWrapper: set the program for a suffix, or for all files."""
    suffix = words[1] if len(words) > 1 else None
    flag = words[2] if len(words) > 2 else None
    if flag is None and suffix is not None and lower(suffix) == "virtual":
        suffix = None
        flag = "virtual"
    if flag is not None and lower(flag) != "virtual":
        raise ConfigError("Invalid wrapper flag")
    if suffix is not None and (suffix[:1] != "." or len(suffix) < 2 or "/" in suffix or "\\" in suffix):
        raise ConfigError("Invalid wrapper file extension")
    command = command_of("Wrapper", words[0], is_virtual=flag is not None)
    conf.wrappers = {**own(conf, "wrappers", dict), suffix or ANY_SUFFIX: command}


def program(name: str, kind: str) -> Setter:
    """Return the setter of a program that decides about access."""

    def apply(_cmd: Command, conf: FcgidDirConfig, words: list[str]) -> None:
        setattr(conf, name, command_of(kind, words[0]))

    return apply


_OPTIONS = {
    "connecttimeout": ("ConnectTimeout", "connect_timeout"),
    "idletimeout": ("IdleTimeout", "idle_timeout"),
    "iotimeout": ("IOTimeout", "io_timeout"),
    "maxprocesses": ("MaxProcesses", "most"),
    "maxprocesslifetime": ("MaxProcessLifetime", "lifetime"),
    "maxrequestsperprocess": ("MaxRequestsPerProcess", "max_requests"),
    "minprocesses": ("MinProcesses", "least"),
}


def set_options(_cmd: Command, conf: FcgidServerConfig, words: list[str]) -> None:
    """FcgidCmdOptions: set the options of one command."""
    text = strip(words[0])
    quote = text[:1] if text[:1] in ("'", '"') else ""
    path, _, rest = text[1:].partition(quote) if quote else text.partition(" ")
    if not path:
        raise ConfigError("A command must be specified for FcgidCmdOptions")
    _identity("Command", path)
    left = split(rest)
    if not left:
        raise ConfigError("At least one option must be specified for FcgidCmdOptions")
    found = CommandOptions()
    while left:
        option = left.pop(0)
        low = lower(option)
        if low not in _OPTIONS and low != "initialenv":
            raise ConfigError(f"Invalid option for FcgidCmdOptions: {option}")
        name, field = _OPTIONS.get(low, ("InitialEnv", "environment"))
        if not left:
            raise ConfigError(f"{name} must have an argument")
        value = left.pop(0)
        if field == "environment":
            variable, _, text = value.partition("=")
            found = found._replace(environment=(*found.environment, (variable, text)))
        else:
            numbers: dict[str, Any] = {field: atoi(value)}
            found = found._replace(**numbers)
    conf.options = {**own(conf, "options", dict), path: found}
