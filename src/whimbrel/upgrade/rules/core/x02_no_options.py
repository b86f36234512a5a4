"""X02: without any Options 2.2 allows nearly everything, 2.4 only FollowSymLinks.

Document: documents/X02-no-options.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.helpers import insert_for_server
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import is_24_config, is_in_main_server, main_statements, server_of
from whimbrel.upgrade.source.served_roots import user_words

_ANY: Final = frozenset(("*", "_default_"))
"""Words of <VirtualHost> for all addresses."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for a server with a directory that no Options without signs covers."""
    if is_24_config(tree) or not main_statements(tree):
        return
    plain = [line for line in tree.named("options") if line.file.role is Role.MAIN and replaces(line.words())]
    if any(map(is_in_main_server, plain)):
        return
    covered = [(server_of(line), path) for line in plain for path in _directories(line)]
    hosts = [] if _reaches_main(tree) else list(tree.named("<virtualhost"))
    uncovered = [
        path
        for server, path in roots(tree)
        if not all(
            _is_covered(path, one, covered) for one in (hosts if server is None and hosts else [server])
        )
    ]
    place = insert_for_server(tree, ["Options All"]) if uncovered else None
    if place is not None:
        line, edit = place
        yield Finding(
            "X02",
            line.place,
            (
                f"no Options line applies to {uncovered[0]}: 2.2 lists directories and runs programs "
                "there, 2.4 only follows symbolic links"
            ),
            "write Options All, the default of 2.2, or only the options that are needed",
            Risk.CHANGES,
            Safety.SAFE,
            (edit,),
            decision="May every directory be listed and run programs, as in 2.2?",
            answers=("yes: upgrade writes Options All", "no: write the Options that are needed"),
        )


def _is_covered(path: str, server: Statement | None, covered: list[tuple[Statement | None, str]]) -> bool:
    """Return True if a line for *server*, or for all, applies to *path*."""
    return any(
        host in (None, server) and (path == directory or path.startswith(directory.rstrip("/") + "/"))
        for host, directory in covered
    )


def _reaches_main(tree: ConfigTree) -> bool:
    """Return True if a request may be of the main server: no host is for all that comes to an address."""
    listening = {word.lower() for line in tree.named("listen") for word in line.words()[:1]}
    hosts = {word.lower() for host in tree.named("<virtualhost") for word in host.args.rstrip("> ").split()}
    ports = {_port(word) for word in hosts if word.rpartition(":")[0] in _ANY or word in _ANY}
    caught = (word in hosts or _port(word) in ports for word in listening)
    return not hosts or ("" not in ports and not (listening and all(caught)))


def _port(address: str) -> str:
    """Return the port of an address, "" for all ports."""
    port = address.rpartition(":")[2] if ":" in address or address.isdigit() else ""
    return "" if port == "*" else port


def replaces(words: list[str]) -> bool:
    """Return True if the line sets all options instead of changing inherited ones."""
    return any(word[:1] not in ("+", "-") for word in words)


def roots(tree: ConfigTree) -> list[tuple[Statement | None, str]]:
    """Return the directories that requests are mapped to, each with the virtual host of its line.

    A placeholder stands for a server without DocumentRoot.
    """
    paths = []
    for name, at in (("documentroot", 0), ("alias", 1)):
        for line in tree.named(name):
            words = line.words()
            if len(words) > at:
                paths.append((server_of(line), root_relative(tree.text_root or "/", words[at])))
    vague = any(tree.named("virtualdocumentroot", "aliasmatch")) or any(
        user_words(line.words()) for line in tree.named("userdir")
    )
    return [*paths, (None, "/")] if vague or not paths else paths


def _directories(line: Statement) -> list[str]:
    """Return the directory to which the line applies for its server: that of a <Directory> without wildcards,
    or each for a line of a virtual host."""
    around = [section for section in line.enclosing() if not section.name.startswith("<if")]
    if around and around[-1].name == "<virtualhost":
        del around[-1]
        if not around:
            return ["/"]
    if len(around) == 1 and around[0].name == "<directory":
        path = getword(around[0].args)[0]
        if path[:1] == "/" and not set("*?[") & set(path):
            return [path]
    return []


RULE = Rule("X02", "no-options", "Without Options 2.4 lists no directories", check)
