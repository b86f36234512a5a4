"""Notes of `whimbrel serve`: old directives and what 2.4 does with them, messages, URLs to try."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from rich.console import Console
from rich.markup import escape

from whimbrel.base.latin1 import to_system
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.messages import format_message
from whimbrel.config.model import Listener, SectionKind, Server, Stage, all_nodes
from whimbrel.config.vhosts import speaks_tls

COMPAT: Final = "still does what it did, by mod_access_compat; 2.4 has Require for it"
# Old names that 2.4 still reads, and their meaning there.
OLD_NAMES: Final = {
    "order": COMPAT,
    "allow": COMPAT,
    "deny": COMPAT,
    "satisfy": COMPAT,
    "maxclients": "is called MaxRequestWorkers; the old name works",
    "maxrequestsperchild": "is called MaxConnectionsPerChild; the old name works",
    "namevirtualhost": "has no effect: names are always looked at",
    "defaulttype": "has no effect: a file of unknown type gets no Content-Type",
    "sslmutex": "is called Mutex",
    "rewritelog": "is LogLevel rewrite:trace3",
    "rewriteloglevel": "is LogLevel rewrite:trace1 to trace8",
}
_COVERED_CODES: Final = ("AH00117", "AH00548")  # messages that repeat a line of the table


def changes(configuration: Configuration) -> list[str]:
    """Return one line for each old directive of the configuration, in the order of first use."""
    if not configuration.dialect.messages_24:
        return []
    places_by_name: dict[str, list[str]] = {}
    for node in all_nodes(configuration.tree):
        if node.name.lower() in OLD_NAMES and not (
            node.name.lower() == "defaulttype" and node.args.strip().lower() == "none"
        ):
            places_by_name.setdefault(node.name, []).append(
                f"{_short(node.place.path, configuration)}:{node.place.line}"
            )
    lines = []
    for name, places in places_by_name.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        lines.append(f"{name[0].upper()}{name[1:]} ({places[0]}{more}) {OLD_NAMES[name.lower()]}")
    return lines


def messages(configuration: Configuration) -> list[str]:
    """Return the other messages of reading, in httpd's words."""
    shown_codes = () if not configuration.dialect.messages_24 else _COVERED_CODES
    shown = [
        m
        for m in configuration.messages
        if m.stage is Stage.READING
        and m.code not in shown_codes
        and m.level in ("startup", "warn", "error", "crit", "notice")
    ]
    out = [format_message(m, configuration.dialect) for m in shown]
    if os.getuid() != 0 and configuration.spec.user:
        spec = configuration.spec
        out.append(f"User {spec.user} and Group {spec.group} have no effect: you are not root")
    return out


def _short(path: str, configuration: Configuration) -> str:
    return path.removeprefix(configuration.root.rstrip("/") + "/")


def print_banner(
    console: Console,
    configuration: Configuration,
    notes: Sequence[str] = (),
    of_htaccess: Sequence[str] = (),
) -> None:
    """Print what changed; *notes* are what this machine does not have, *of_htaccess* those about .htaccess
    files.
    """
    version = ".".join(map(str, configuration.dialect.version[:2]))
    console.print(
        f"Serving [bold]{escape(to_system(configuration.options.file))}[/] by the rules of httpd {version}."
    )
    for title, lines in (
        ("Lines of 2.2, served as 2.4 reads them (whimbrel check has what to do):", changes(configuration)),
        ("Noticed while reading:", messages(configuration)),
        (".htaccess files beside the documents:", of_htaccess),
        ("Replaced on this machine:", notes),
    ):
        if lines:
            console.print(f"[bold]{title}[/]")
            for line in lines:
                console.print(f"  [yellow]-[/] {escape(to_system(line))}")


def print_urls(console: Console, configuration: Configuration) -> None:
    """Print three URLs at the end of a start."""
    log = configuration.spec.error_log
    if log is not None and not log.piped and not log.syslog:
        console.print(f"Errors go to {escape(to_system(log.target))}.")
    console.print("[bold]Try:[/]")
    for url in shown_urls(urls(configuration)):
        console.print(f"  [cyan]{escape(to_system(url))}[/]{escape(to_system(_resolved(url)))}")
    console.file.flush()


def shown_urls(found: list[str]) -> list[str]:
    """Return three of the URLs *found*, one of https among them if there is one."""
    first = found[:3]
    secure = next((url for url in found if url.startswith("https:")), "")
    return first if not secure or secure in first else [*found[:2], secure]


def _resolved(url: str) -> str:
    """Return how to ask this machine for *url* if its name may be unknown here, "" for an address."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    if name == "localhost" or name.endswith(".localhost") or not name.strip("0123456789.:"):
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"  (or curl --resolve {name}:{port}:127.0.0.1)"


def urls(configuration: Configuration) -> list[str]:
    """Return URLs that this configuration answers: a front page, a directory with its own section, another
    host, then the rest.
    """
    listeners = configuration.spec.listeners
    if not listeners:
        return []
    listener = listeners[0]
    servers = [s for s in configuration.servers() if not s.is_virtual or _listens(s, listener)]
    default = next((s for s in servers if s.is_virtual), configuration.main)
    base = _origin(default, _host(default, listener), listener)
    inside = [f"{base}{path}" for path in _paths(default)]
    others = [
        f"{_origin(s, name, listener)}/"
        for s in servers
        if s.is_virtual and s is not default
        for name in [_local_name(s)]
        if name
    ]
    more = [
        f"{_origin(_server_at(configuration, one), _host(configuration.main, one), one)}/"
        for one in listeners[1:]
    ]
    return list(dict.fromkeys([f"{base}/", *inside[:1], *others[:1], *inside[1:], *others[1:], *more]))


def _server_at(configuration: Configuration, listener: Listener) -> Server:
    """Return the default server of a listener."""
    hosts = (server for server in configuration.servers() if server.is_virtual and _listens(server, listener))
    return next(hosts, configuration.main)


def _origin(server: Server, name: str, listener: Listener) -> str:
    """Return scheme, name and port of the URLs of *server* at a listener, the port where it is not that of
    the scheme.
    """
    is_tls = speaks_tls(server) or listener.protocol == "https"
    port = "" if listener.port == (443 if is_tls else 80) else f":{listener.port}"
    return f"{'https' if is_tls else 'http'}://{name}{port}"


def _listens(server: Server, listener: Listener) -> bool:
    return any(address.port in (0, listener.port) for address in server.addresses)


def _host(server: Server, listener: Listener) -> str:
    """Return a name that reaches *listener* from this machine."""
    if listener.address in ("", "0.0.0.0", "::", "127.0.0.1", "::1"):
        return "localhost"
    return f"[{listener.address}]" if ":" in listener.address else listener.address


def _local_name(server: Server) -> str:
    """Return a name of a virtual host, one that every machine resolves if there is one."""
    names = [server.name, *server.names]
    return next((n for n in names if n.endswith(".localhost")), server.name)


def _paths(server: Server) -> Iterator[str]:
    """Return paths below the front page that have their own sections."""
    root = server.config(CoreServerConfig).document_root.rstrip("/") + "/"
    for section in server.directories:
        if section.kind is SectionKind.DIRECTORY and section.regex is None and not section.fnmatch:
            path = section.pattern.rstrip("/") + "/"
            if path.startswith(root) and path != root:
                yield "/" + path[len(root) :]
    for section in server.locations:
        if (
            section.kind is SectionKind.LOCATION
            and section.regex is None
            and not section.fnmatch
            and section.pattern != "/"
        ):
            yield section.pattern
