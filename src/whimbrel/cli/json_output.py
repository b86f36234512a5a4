r"""``--json``: the output of -t, the dumps, -l, -L, -V and -v as one JSON document.

Keys are stable, paths absolute. A text that is not UTF-8 has ``\xNN`` for its bytes. A check that fails
prints the document too, with ``ok`` false.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from whimbrel.base.builds import Build
from whimbrel.base.errors import ConfigError, SourceLocation, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.product import COMPATIBLE, VERSION
from whimbrel.catalogue.listing import contexts
from whimbrel.catalogue.load import WHERE, catalogue
from whimbrel.cli import version_text
from whimbrel.cli.arguments import Arguments
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import catalogue_of
from whimbrel.config.model import LogSink, Server
from whimbrel.config.vhosts import AddressChain, VirtualHostTable

Json = dict[str, Any]


def write(document: Json) -> None:
    """Print *document* on standard output."""
    os.write(
        1,
        json.dumps(document, indent=2, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
        + b"\n",
    )


def plain(text: str) -> str:
    """Decode text of one character per byte as UTF-8."""
    return text if text.isascii() else to_bytes(text).decode("utf-8", "backslashreplace")


def show_document(arguments: Arguments, root: str, file: str, build: Build) -> Json:
    """Return the document of -v, -V, -l or -L."""
    version = "2.2" if arguments.dialect == "2.2" else "2.4"
    if arguments.show == "l":
        return {"compiled_in_modules": list(version_text.sources(build))}
    if arguments.show == "L":
        return directives_document(version, version_text.sources(build))
    document: Json = {
        "version": VERSION,
        "compatible_with": COMPATIBLE[arguments.dialect],
        "built": version_text.built(),
    }
    if arguments.show == "V":
        document |= {
            "mpm": "prefork" if version == "2.2" else "event",
            "server_root": root,
            "config_file": file,
            "pid_file": build.pid_file,
            "error_log": build.error_log,
            "types_config": build.types_file,
            "suexec": build.suexec,
            "build": build_document(build),
        }
    return document


def build_document(build: Build) -> Json:
    """Return the build, what shows it, and the layout whose paths apply."""
    return {"name": build.name, "reason": plain(build.reason), "layout": build.layout.name}


def directives_document(version: str, sources: Iterable[str]) -> Json:
    """Return the directives of the modules with these source files."""
    version_catalogue = catalogue(version)
    return {
        "directives": [
            {
                "name": row.name,
                "module": row.source,
                "help": row.help,
                "arguments": row.args,
                "contexts": contexts(row.where, version),
                "override": [name for name, bit in WHERE.items() if row.where & bit],
                "default": row.default,
            }
            for source in sources
            for row in version_catalogue.module_rows(source)
        ]
    }


def check_document(configuration: Configuration | None, problem: ConfigError | StartError | None) -> Json:
    """Return the document of -t: result, messages and requested dumps."""
    document: Json = {"ok": problem is None}
    if problem is not None:
        document["error"] = problem_document(problem)
    if configuration is None:
        return document
    document["build"] = build_document(configuration.build)
    document["messages"] = [
        {
            "level": m.level,
            "module": m.module,
            "code": m.code,
            "text": plain(m.text),
            "cause": m.cause,
            **place_document(m.place),
        }
        for m in configuration.messages
    ]
    if problem is None:
        document["without_behaviour"] = [
            {"directive": node.name, "module": source, **place_document(node.place)}
            for node, source in configuration.unimplemented
        ]
        names = set(configuration.options.defines)
        document |= {key: make(configuration) for name, (key, make) in _DUMPS.items() if name in names}
    return document


def problem_document(problem: ConfigError | StartError) -> Json:
    """Return the reason why a configuration cannot be read or started."""
    if isinstance(problem, StartError):
        return {"status": problem.status, "lines": [plain(line) for line in problem.lines]}
    return {
        "status": 1,
        "code": problem.code,
        "reason": plain(problem.reason),
        "hint": problem.hint,
        "details": [plain(line) for line in problem.details],
        **place_document(problem.place),
    }


def place_document(place: SourceLocation | None) -> Json:
    """Return file and line, and the Include lines that led there, innermost first."""
    if place is None:
        return {}
    via = []
    outer = place.included_from
    while outer is not None:
        via.append({"file": plain(outer.path), "line": outer.line})
        outer = outer.included_from
    return {"file": plain(place.path), "line": place.line, **({"included_from": via} if via else {})}


# dumps -------------------------------------------------------------------------------------------
def virtual_hosts(configuration: Configuration) -> list[Json]:
    """Return the addresses in the order of -S, each with the servers in the order of matching."""
    hosts = configuration.hosts or VirtualHostTable(configuration)
    return [_chain(chain) for chain in (*hosts.chains(), *hosts.defaults) if chain.server is not None]


def _chain(chain: AddressChain) -> Json:
    assert chain.server is not None
    return {
        "address": chain.address.host,
        "port": chain.address.port or None,
        "default_server": _server(chain.server),
        "servers": [{"port": address.port or None, **_server(server)} for address, server in chain.names]
        or [_server(chain.server)],
    }


def _server(server: Server) -> Json:
    return {
        "name": plain(server.name),
        "aliases": [plain(n) for n in server.names],
        "wild_aliases": [plain(n) for n in server.wild_names],
        **place_document(server.place),
    }


def run_settings(configuration: Configuration) -> Json:
    """Return the settings that -S prints last."""
    from whimbrel.config.core_config import CoreServerConfig
    from whimbrel.config.mpm_config import MpmConfig

    spec = configuration.spec
    conf = configuration.main.config(MpmConfig)
    sink = spec.error_log
    return {
        "server_root": plain(configuration.root),
        "document_root": plain(
            configuration.main.config(CoreServerConfig).document_root or configuration.default_document_root
        ),
        "error_log": None if sink is None else _sink(sink),
        "pid_file": plain(spec.pid_file),
        "user": plain(conf.user),
        "group": plain(conf.group),
        "listen": [
            {
                "address": listener.address or None,
                "port": listener.port,
                "protocol": listener.protocol or None,
            }
            for listener in spec.listeners
        ],
        "defines": {plain(name): _value(configuration, name) for name in configuration.defines},
    }


def _sink(sink: LogSink) -> Json:
    kind = "syslog" if sink.syslog else "file"
    return {"target": plain(sink.target), "kind": "program" if sink.piped else kind}


def _value(configuration: Configuration, name: str) -> str | None:
    value = configuration.variables.get(name.lower())
    return None if value is None else plain(value)


def modules(configuration: Configuration) -> list[Json]:
    """Return the modules of -M."""
    rows = {row.identifier: row for row in catalogue_of(configuration.dialect).modules}
    return [
        {
            "name": m.name,
            "source": m.source,
            "linkage": "static" if m.source in configuration.built_in else "shared",
            "has_behaviour": m.name in rows and rows[m.name].file in configuration.available,
        }
        for m in configuration.modules.modules
    ]


def includes(configuration: Configuration) -> list[Json]:
    """Return the files in the order of reading; *line* is that of the Include."""
    return [
        {"file": plain(include.path), "line": include.line or None, "depth": include.depth}
        for include in configuration.includes
    ]


def tree(configuration: Configuration) -> list[Json]:
    """Return the directives in effect, each with the number of enclosing sections."""
    directives = []
    pending = [(node, 0) for node in reversed(configuration.tree)]
    while pending:
        node, depth = pending.pop()
        directives.append(
            {"name": node.name, "arguments": plain(node.args), "depth": depth, **place_document(node.place)}
        )
        pending += [(child, depth + 1) for child in reversed(node.children)]
    return directives


_DUMPS = {
    "DUMP_VHOSTS": ("virtual_hosts", virtual_hosts),
    "DUMP_RUN_CFG": ("run", run_settings),
    "DUMP_MODULES": ("modules", modules),
    "DUMP_INCLUDES": ("includes", includes),
    "DUMP_CONFIG": ("config", tree),
}
