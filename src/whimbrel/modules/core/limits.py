"""Limits of the core: request size, ranges, recursion, timeouts, resources of programs.

Manual: mod/core.html#limitrequestbody and neighbours. RLimit... values are stored as written and apply to the
programs that CGI starts.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi, strtol, strtol_exact
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.numbers import strtol as strtol_checked
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.execute import state_of
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import own, set_in_range, set_value
from whimbrel.registry.settings import UNSET, with_defaults

MAX_XML_BODY = (1 << 63) // 3 - 1  # a third of the address space: the parser needs room for two more copies
LONG_MAX = (1 << 63) - 1


def natural(name: str, tail: str = "") -> Setter:
    """Return a setter of a non-negative number, read as atoi does."""
    return set_in_range(name, 0, None, f'{{name}} "{{word}}" must be a non-negative integer{tail}')


def head_limit(name: str, tail: str = "") -> Setter:
    """Return a setter of a limit of request heads.

    A virtual host has the main server's value at the place of its section: later lines of the main server
    leave earlier hosts as they are (ap_init_virtual_host).
    """
    apply = natural(name, tail)

    def apply_to_server(cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
        before = getattr(conf, name)
        apply(cmd, conf, words)
        state = state_of(cmd)
        if state.current_server.is_virtual:
            return
        earlier = getattr(with_defaults(CoreServerConfig()), name) if before is UNSET else before
        for host in state.configuration.virtual_hosts:
            own_record = host.record(CoreServerConfig)
            if getattr(own_record, name) is UNSET:
                setattr(own_record, name, earlier)

    return apply_to_server


def set_body(_cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set LimitRequestBody: bytes, 0 for no limit."""
    value, rest, is_cut = strtol_checked(words[0])
    if is_cut:
        raise ConfigError("LimitRequestBody argument is not parsable.")
    if rest or value < 0:
        raise ConfigError("LimitRequestBody requires a non-negative integer.")
    conf.limit_body = value


def set_xml_body(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set LimitXMLRequestBody: bytes, 0 for as much as memory allows."""
    value = strtol(words[0])[0]
    if value < 0:
        raise ConfigError("LimitXMLRequestBody requires a non-negative integer.")
    if value > MAX_XML_BODY and not cmd.dialect.lenient_values:
        raise ConfigError(f"LimitXMLRequestBody must not exceed {MAX_XML_BODY}")
    conf.limit_xml_body = value or MAX_XML_BODY


_RANGE_WORDS = {"none": 0, "unlimited": -1}


def ranges(name: str, default: int) -> Setter:
    """Return a setter of MaxRanges or a neighbour: a number or a keyword; -1 means unlimited."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        word = words[0].lower()
        value = default if word == "default" else _RANGE_WORDS.get(word, atoi(word))
        if value == 0 and word != "none" or value < 0 and word != "unlimited":
            raise ConfigError(f"{cmd.name} requires 'none', 'default', 'unlimited' or a positive integer")
        setattr(record, name, value)

    return apply


def default_timeout(configuration: Configuration) -> None:
    """Apply the default Timeout of 2.2, 300 seconds."""
    if configuration.dialect.default_timeout_300:
        for server in configuration.servers():
            conf = server.record(CoreServerConfig)
            if conf.timeout is UNSET:
                conf.timeout = 300.0


_VERY_LOW: Final = (
    ("internal redirects to very low numbers", "AH00119"),
    ("the subrequest depth to a very low level", "AH00120"),
)
MIN_LIMIT: Final = 4


def set_recursion(cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set LimitInternalRecursion: redirects, then sub-requests (by default the same number)."""
    values = [atoi(word) for word in words]
    for value, (text, code) in zip(values, _VERY_LOW, strict=False):
        if value <= 0:
            raise ConfigError("The recursion limit must be greater than zero.")
        if value < MIN_LIMIT:
            cmd.warn(f"Limiting {text} may cause normal requests to fail.", code=code)
    conf.max_redirects = values[0]
    conf.max_subrequests = values[-1]


def number_between(name: str, low: int, high: int, shown: str) -> Setter:
    """Return a setter of a decimal number in a range, *shown* as httpd prints the range."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value = strtol_exact(words[0])
        if value is None or not low <= value <= high or words[0].strip(" +-") == "":
            raise ConfigError(f"parameter must be a number between {shown}: {words[0]}")
        if name:
            setattr(record, name, value)

    return apply


UNSIGNED = (0, (1 << 32) - 1, "0 and (4294967295U))")


def resource(name: str) -> Setter:
    """Return a setter of RLimitCPU, RLimitMEM or RLimitNPROC: soft and hard limit, a number or ``max``."""

    def apply(_cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
        conf.limits = {**own(conf, "limits", dict), name: (words[0], words[-1])}

    return apply


DIR_SETTERS: Final[dict[str, Setter]] = {
    "LimitRequestBody": set_body,
    "LimitXMLRequestBody": set_xml_body,
    "MaxRanges": ranges("max_ranges", 200),
    "MaxRangeOverlaps": ranges("max_overlaps", 20),
    "MaxRangeReversals": ranges("max_reversals", 20),
    "RLimitCPU": resource("cpu"),
    "RLimitMEM": resource("mem"),
    "RLimitNPROC": resource("nproc"),
    "ReadBufferSize": number_between("read_buffer", *UNSIGNED),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "Timeout": set_value("timeout", lambda word: float(atoi(word))),
    "LimitRequestLine": head_limit("limit_line"),
    "LimitRequestFieldsize": head_limit("limit_field_size"),
    "LimitRequestFields": head_limit("limit_fields", " (0 = no limit)"),
    "LimitInternalRecursion": set_recursion,
}
SETTERS: Final[dict[str, Setter]] = {
    "FlushMaxThreshold": number_between("", *UNSIGNED),
    "FlushMaxPipelined": number_between("", -1, (1 << 31) - 1, "-1 and (2147483647)"),
}
