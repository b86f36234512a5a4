"""Texts of -L and of -t -D DUMP_..."""

from __future__ import annotations

import os
from collections.abc import Sequence

from whimbrel.base.accounts import effective_user, group_named, user_named, user_numbered
from whimbrel.catalogue.listing import listing
from whimbrel.catalogue.load import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.config.vhost_dump import dump_vhosts
from whimbrel.directives.node import Node
from whimbrel.modules.mpm.settings import MUTEX_TYPES


def directives(dialect: str, sources: Sequence[str]) -> str:
    """Return the text of -L: the directives of the modules with these source files."""
    return listing(catalogue("2.2" if dialect == "2.2" else "2.4"), sources)


def requested_dumps(configuration: Configuration) -> str:
    """Return the dumps that the command line requests, in httpd's order; "" for none."""
    names = set(configuration.options.defines)
    is_24 = configuration.dialect.messages_24
    out = ""
    if "DUMP_INCLUDES" in names and is_24:
        out += includes(configuration)
    if "DUMP_VHOSTS" in names:
        out += dump_vhosts(configuration)
    if "DUMP_CONFIG" in names and is_24 and configuration.loaded("mod_info.c"):  # which prints it
        out += tree(configuration)
    if "DUMP_RUN_CFG" in names and is_24:
        out += run_settings(configuration)
    if "DUMP_MODULES" in names:
        out += loaded_modules(configuration)
    return out


def is_syntax_ok_silent(configuration: Configuration) -> bool:
    """Return True if 2.4 does not print "Syntax OK" after these dumps."""
    names = {"DUMP_VHOSTS", "DUMP_RUN_CFG", "DUMP_MODULES", "DUMP_INCLUDES"}
    return configuration.dialect.messages_24 and bool(names & set(configuration.options.defines))


def loaded_modules(configuration: Configuration) -> str:
    """Return the text of -M."""
    static = configuration.built_in
    lines = (
        f" {m.name} ({'static' if m.source in static else 'shared'})\n" for m in configuration.modules.modules
    )
    return "Loaded Modules:\n" + "".join(lines)


def includes(configuration: Configuration) -> str:
    """Return the text of DUMP_INCLUDES: every file, indented by level, with the line of an Include.

    httpd shows the Include that it executed last. Where a wildcard names several files, an earlier file may
    contain that Include.
    """
    out = "Included configuration files:\n"
    for include in configuration.includes:
        line = "*" if include.shown_line is None else include.shown_line
        out += f"{'  ' * (include.depth + 1)}({line}) {include.path}\n"
    return out


def tree(configuration: Configuration) -> str:
    """Return the text of DUMP_CONFIG: every directive in effect, with file and line."""
    out: list[str] = []
    file = ""
    waiting: list[tuple[Node, int, bool]] = [(node, 0, False) for node in reversed(configuration.tree)]
    while waiting:
        node, depth, ends = waiting.pop()
        indent = "  " * depth
        if node.place.path != file:
            file = node.place.path
            out.append(f"# In file: {file}")
        if ends:
            out.append(f"{indent}</{node.name[1:]}>")
            continue
        out += [f"{indent}#{node.place.line:>4}:", f"{indent}{node.name} {node.args}".rstrip(" ")]
        if node.name.startswith("<"):
            waiting.append((node, depth, True))
            waiting += [(child, depth + 1, False) for child in reversed(node.children)]
    return "".join(f"{line}\n" for line in out)


def run_settings(configuration: Configuration) -> str:
    """Return the text of DUMP_RUN_CFG."""
    conf = configuration.main.config(MpmConfig)
    spec = configuration.spec
    sink = spec.error_log
    if sink is None:
        shown_log = ""
    elif sink.piped:
        shown_log = f"|{sink.target}"
    elif sink.syslog:
        shown_log = f"syslog:{sink.target}".rstrip(":")
    else:
        shown_log = sink.target
    root = configuration.main.config(CoreServerConfig).document_root or configuration.default_document_root
    out = f'ServerRoot: "{configuration.root}"\nMain DocumentRoot: "{root}"\nMain ErrorLog: "{shown_log}"\n'
    if conf.scoreboard_file:
        out += f'ScoreBoardFile: "{os.path.join(configuration.root, conf.scoreboard_file)}"\n'
    runtime_dir = spec.run_directory
    out += f'Mutex default: dir="{runtime_dir}/" mechanism=default \n'
    used = (
        name
        for name, modules in MUTEX_TYPES.items()
        if name != "default" and any(map(configuration.loaded, modules))
    )
    out += "".join(f"Mutex {name}: using_defaults\n" for name in sorted(used))
    out += f'PidFile: "{spec.pid_file}"\n'
    out += "".join(f"Define: {_define(configuration, name)}\n" for name in configuration.defines)
    return out + _user(conf.user or "#-1", "User") + _user(conf.group or "#-1", "Group")


def _define(configuration: Configuration, name: str) -> str:
    value = configuration.variables.get(name.lower())
    return name if value is None else f"{name}={value}"


def _user(written: str, kind: str) -> str:
    """Return ``User: name="www-data" id=33``; a server without root privileges does not use it."""
    number = -1
    name = written
    try:
        if written.startswith("#"):
            number = int(written[1:])
            name = user_numbered(number).pw_name if kind == "User" else written
        elif written:
            number = user_named(written).pw_uid if kind == "User" else group_named(written).gr_gid
    except (KeyError, ValueError):
        pass
    tail = "" if effective_user() == 0 else " not_used"
    return f'{kind}: name="{name}" id={number & 0xFFFFFFFF}{tail}\n'
