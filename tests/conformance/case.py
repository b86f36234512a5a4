"""Typed view of one recorded case as it was answered by one version of httpd."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Record = Mapping[str, Any]
"""One decoded JSON object of a recording."""
Payload = str | bytes
"""Text with placeholders such as @PORT@, or bytes that are used unchanged."""
Version = Literal["2.2", "2.4"]
VERSIONS: tuple[Version, ...] = ("2.2", "2.4")
KINDS = ("site", "configtest", "command", "process")
_VERSION_KEYS = {"2.2", "2.4", "2.2w", "2.4v"}


@dataclass(frozen=True)
class File:
    """A file of the server root: a regular file, or a symbolic link if *symlink* is set.

    Attributes:
        content: text with placeholders, or bytes.
        mode: permission bits of a regular file.
        symlink: target of a symbolic link, with placeholders.
    """

    content: Payload = ""
    mode: int = 0o644
    symlink: str | None = None


@dataclass(frozen=True)
class Request:
    """One recorded request.

    Attributes:
        headers: name and value; a value of None suppresses the field.
        host: value of Host; None selects the default (localhost for HTTP/1.1).
        addr, port, source: destination address and port, and client address.
        auth: user and password of Basic authentication.
        digest: user, password and overrides of Digest authentication.
        tls: True or the server name of the handshake.
        cert: file below the server root with the client's certificate and key.
        conn: key of a persistent connection; None opens a new connection.
        raw: bytes that replace the whole request.
        chunks, gap: pieces that are sent later, each after *gap* seconds.
        pause: seconds before the request.
        until_close: read everything until the server closes the connection.
        record: the recorded form.
    """

    record: Record
    method: str = "GET"
    path: str = "/"
    version: str = "HTTP/1.1"
    headers: tuple[tuple[str, str | None], ...] = ()
    body: Payload | None = None
    host: str | None = None
    addr: str = "127.0.0.1"
    port: str = "@PORT@"
    source: str | None = None
    auth: tuple[str, str] | None = None
    digest: Record | None = None
    tls: bool | str = False
    tls_max: str | None = None
    cert: str | None = None
    conn: int | str | None = None
    raw: Payload | None = None
    chunks: tuple[Payload, ...] = ()
    gap: float = 0.1
    pause: float = 0.0
    timeout: float = 10.0
    until_close: bool = False


@dataclass(frozen=True)
class Backend:
    """A program that runs beside the server, and the port (with placeholders) that it listens on."""

    argv: tuple[str, ...]
    port: str | None


@dataclass(frozen=True)
class Case:
    """One recorded case for one version: configuration, files, requests, and the recorded answer.

    Attributes:
        modules: short names, in LoadModule order.
        preamble: False if the configuration stands without the usual directives before it.
        strict: True if no module may be added to the list.
        args: arguments of a `configtest`; argv, stdin: those of a `command`.
        steps: actions of a `process` case.
        masks: regular expression and replacement, applied to actual text.
        answer: recorded answer of the version.
    """

    id: str
    version: Version
    kind: str
    topic: str
    title: str
    answer: Record
    conf: str
    modules: tuple[str, ...]
    preamble: bool
    strict: bool
    files: Mapping[str, File]
    defines: tuple[str, ...]
    environment: Mapping[str, str]
    backends: tuple[Backend, ...]
    masks: tuple[tuple[str, str], ...]
    args: tuple[str, ...]
    argv: tuple[str, ...]
    stdin: str
    requests: tuple[Request, ...]
    steps: tuple[Record, ...]

    @property
    def family(self) -> str:
        """The id up to its number."""
        return family_of(self.id)


def family_of(case_id: str) -> str:
    """``config-args`` of ``config-args-0012`` and of ``config-args-h012``."""
    return re.split(r"-h?\d{3,}", case_id)[0]


def has_version(record: Record, version: str) -> bool:
    """Return True if the record is a known kind of case with an answer of *version*."""
    return record.get("kind", "site") in KINDS and version in record["answers"]


def case_of(record: Record, version: Version) -> Case:
    """The view of a recorded case for *version*."""

    def chosen(key: str) -> Any:
        return _of_version(record.get(key), version)

    return Case(
        id=record["id"],
        version=version,
        kind=record.get("kind", "site"),
        topic=record.get("topic", ""),
        title=record.get("title", ""),
        answer=record["answers"][version],
        conf=chosen("conf") or "",
        modules=tuple(chosen("modules") or ()),
        preamble=record.get("preamble", True),
        strict=record.get("strict", False),
        files={name: _file(value) for name, value in (chosen("files") or {}).items()},
        defines=tuple(record.get("defines", ())),
        environment=record.get("env") or {},
        backends=tuple(Backend(tuple(one["argv"]), one.get("port")) for one in record.get("backends", ())),
        masks=tuple((pattern, replacement) for pattern, replacement in record.get("masks", ())),
        args=tuple(record.get("args", ("-t",))),
        argv=tuple(chosen("argv") or ()),
        stdin=record.get("stdin") or "",
        requests=tuple(request_of(one) for one in record.get("requests", ())),
        steps=tuple(record.get("steps", ())),
    )


def request_of(record: Record) -> Request:
    """The view of a recorded request; a step of a `process` case has the same keys."""
    fields = {key: record[key] for key in _PLAIN_KEYS & record.keys()}
    given = record.get("headers") or ()
    pairs = given.items() if isinstance(given, Mapping) else given
    fields["headers"] = tuple((name, None if value is None else str(value)) for name, value in pairs)
    fields["chunks"] = tuple(_payload(chunk) for chunk in record.get("chunks", ()))
    for key in ("body", "raw"):
        if record.get(key) is not None:
            fields[key] = _payload(record[key])
    if record.get("auth"):
        user, password = record["auth"]
        fields["auth"] = (user, password)
    if "port" in record:
        fields["port"] = str(record["port"])
    return Request(record, **fields)


_PLAIN_KEYS = {
    "method",
    "path",
    "version",
    "host",
    "addr",
    "source",
    "digest",
    "tls",
    "tls_max",
    "cert",
    "conn",
    "gap",
    "pause",
    "timeout",
    "until_close",
}


def _of_version(value: Any, version: Version) -> Any:
    """The part of *value* for *version* if it is keyed by versions, else *value*."""
    if isinstance(value, Mapping) and value and set(value) <= _VERSION_KEYS:
        return value.get(version)
    return value


def _payload(value: str | Record) -> Payload:
    return value if isinstance(value, str) else base64.b64decode(value["base64"])


def _file(value: str | Record) -> File:
    if isinstance(value, str):
        return File(value)
    mode = int(value.get("mode") or "0o644", 8)
    if value.get("symlink") is not None:
        return File(symlink=value["symlink"])
    if "parts" in value:
        return File(_repeated(value["parts"]), mode)
    return File(value["text"] if value.get("text") is not None else base64.b64decode(value["base64"]), mode)


def _repeated(parts: Sequence[Sequence[Any]]) -> str:
    return "".join(text * times for text, times in parts)
