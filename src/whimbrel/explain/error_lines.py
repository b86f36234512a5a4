"""Lines of an error log as requests: the client, the path and the user that a line names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import quote

from whimbrel.base.numbers import lower
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.explain.request_description import BadRequest, host_table
from whimbrel.modules.mappers.mod_alias import AliasServerConfig
from whimbrel.verify.probe import ProbeUser

TLS_PORT: Final = 443
_LINE: Final = re.compile(
    r"\[client (?P<client>[0-9a-fA-F.:]+?)(?::\d+)?\] (?P<text>.*?)(?:, referer: (?P<referer>.*))?$"
)
_LEVEL: Final = re.compile(rf"\[(?:\w+:)?({'|'.join(LEVELS)})\]")
_CODE: Final = re.compile(r"(AH\d{5}): ")
_RAW_PATH: Final = "invalid URI path ("
"""What stands before a path as the client sent it."""
_URLS: Final = tuple(
    map(
        re.compile,
        (
            r"failure for \"(/.*?)\"",
            r"access to (/.+?) (?:denied|failed)",
            r"URI '(/.*?)'",
        ),
    )
)
"""The paths of URLs in frequent messages, which may contain blanks."""
_FILES: Final = tuple(
    map(
        re.compile,
        (
            r"(/.*?/)\.ht\w*: ",
            r"(?:denied by server configuration|does not exist|not found(?: or unable to stat)?): (/.+)\Z",
        ),
    )
)
"""The paths of files, or of the URL of an unknown user."""
_ANY_PATH: Final = re.compile(r"(?:['\"(\s]|^)(/[^\s'\",)]*)")
_ESCAPED: Final = re.compile(r"\\(?:x([0-9a-f]{2})|([\"\\]))")
_UNESCAPED: Final = "/:@!$&'+,;=~-._()*"
"""Characters of a path that a URL has as they are, besides letters and digits."""
_USERS: Final = (
    (re.compile(r"user (\S.*?): (?:authentication failure for|password mismatch)"), False, True),
    (re.compile(r"user [`']?(\S.*?)'?(?: in realm .*?)? not found: "), True, False),
    (re.compile(r"user (\S.*?): authorization failure for"), True, True),
    (re.compile(r"reason: user '?(\S.*?)'? (?:does not meet|not allowed)"), True, True),
)
"""Messages that name a user, with: the password was right, the user exists."""


class LoggedError(NamedTuple):
    """What a line of the error log says about its request.

    *path* is a path of a URL or of a file, percent-encoded as in a URL; *code* is "" for a line of 2.2.
    *user*: with the password that the message tells of. *is_file*: the path may be that of a file.
    """

    client: str
    path: str
    message: str
    code: str
    level: str
    user: ProbeUser | None
    is_file: bool


class LocatedFile(NamedTuple):
    """The URL of a file; *is_tls*: its server is on the port of TLS alone."""

    host: str
    path: str
    is_tls: bool = False


def is_error_line(text: str) -> bool:
    """Return True if *text* has the form of a line about a client."""
    return "[client " in text and _LINE.search(text.strip()) is not None


def read_error_line(line: str) -> LoggedError:
    """Return what a line of the error log says; raises BadRequest if it names no request."""
    found = _LINE.search(line.strip())
    if found is None:
        raise BadRequest("the line has no [client ADDRESS]")
    text = found["text"]
    user = _user_of(text)
    path, is_url = _path_of(text)
    if not path:
        raise BadRequest("the line names no URL and no file")
    level = _LEVEL.search(line)
    code = _CODE.search(text)
    return LoggedError(
        found["client"],
        path,
        text,
        code[1] if code is not None else "",
        level[1] if level is not None else "",
        user,
        is_file=not is_url and user is None,
    )


def _path_of(text: str) -> tuple[str, bool]:
    """Return the path that a message names, as a URL has it, "" without one; and True for that of a URL."""
    raw = text.partition(_RAW_PATH)[2].rpartition(")")[0]
    if raw.startswith("/"):
        return raw, True
    url = _first(_URLS, text)
    paths = _ANY_PATH.findall(text)
    named = url or _first(_FILES, text) or (paths[-1].rstrip(":.;") or "/" if paths else "")
    return _encoded(named), bool(url)


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> str:
    return next((found[1] for pattern in patterns if (found := pattern.search(text))), "")


def _encoded(path: str) -> str:
    plain = _ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else one[2], path)
    return quote(plain, safe=_UNESCAPED, encoding="latin-1")


def _user_of(text: str) -> ProbeUser | None:
    """Return the user of a message, with the password that it tells of."""
    for pattern, is_right, exists in _USERS:
        found = pattern.search(text)
        if found is not None:
            return ProbeUser(found[1], is_password_valid=is_right, is_assumed=exists, has_file_groups=exists)
    return None


def url_of_file(configuration: Configuration | None, path: str, host: str) -> LocatedFile:
    """Return the URL of a file below a document root or the target of an Alias, those of *host* first; that
    of *path* itself if it is below none.  Raises BadRequest for a file elsewhere.
    """
    if configuration is None:
        return LocatedFile(host, path)
    named = host_table(configuration).get(lower(host)) if host else None
    servers = [named] if named is not None else [configuration.main, *configuration.virtual_hosts]
    best = ""
    found = LocatedFile(host, path)
    for server in servers:
        for directory, prefix in _directories(configuration, server):
            start = _encoded(directory.rstrip("/"))
            if (path == start or path.startswith(f"{start}/")) and len(start) > len(best):
                best = start
                rest = prefix.rstrip("/") + path[len(start) :]
                ports = {address.port for address in server.addresses}
                found = LocatedFile(host or server.name, rest or "/", ports == {TLS_PORT})
    if not best and path.count("/") > 1 and configuration.disk.exists(path):
        raise BadRequest(f"{path} is a file below no DocumentRoot and no Alias; give the URL of the request")
    return found


def _directories(configuration: Configuration, server: Server) -> list[tuple[str, str]]:
    """Return the directories of *server* with the URL paths that they stand for."""
    root = server.value(CoreServerConfig, "document_root") or configuration.default_document_root
    lines = server.value(AliasServerConfig, "aliases") or ()
    return [(root, ""), *((line.real, line.fake) for line in lines if line.regex is None and line.real)]
