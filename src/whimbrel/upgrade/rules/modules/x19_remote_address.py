"""X19: mod_rpaf and mod_extract_forwarded are mod_remoteip. Document: documents/X19-remote-address.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.edits.load_module import load_module_lines
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

MODULES: Final = re.compile(
    r"rpaf(?:_module)?|mod_rpaf(?:-2.0)?(?:\.c)?|extract_forwarded_module|mod_extract_forwarded(?:\.c)?"
)
PROXIES: Final = ("rpafproxy_ips", "rpaf_proxyips", "mefaccept")
ENABLED: Final = ("rpafenable", "rpaf_enable", "mefenable", "extractforwarded")
HEADERS: Final = ("rpafheader", "rpaf_header")
"""The names of mod_rpaf 0.6 and, with an underscore, of 0.7."""
DROPPED: Final = (
    "rpafsethostname",
    "rpafsethttps",
    "rpafsetport",
    "rpaf_sethostname",
    "rpaf_sethttps",
    "rpaf_setport",
    "rpaf_forbidifnotproxy",
    "mefrefuse",
    "meforder",
    "mefaddenv",
    "mefdebug",
    "mefcaching",
)
HEADER: Final = "RemoteIPHeader X-Forwarded-For"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Replace the lines of the modules with those of mod_remoteip; the user reviews which servers are
    trusted."""
    for line in tree.named("loadmodule"):
        if MODULES.fullmatch("".join(line.words()[:1])):
            yield _finding(
                line, replace_statement(tree, line, [_load(tree, line)]), "mod_remoteip of 2.4 replaces it"
            )
    for section in tree.named("<ifmodule"):
        name = section.args.strip()
        if MODULES.fullmatch(name.removeprefix("!")) and not tree.options.also_22:
            yield _finding(
                section,
                (section.replace_args(f"{name[: name.startswith('!')]}mod_remoteip.c>"),),
                "its name in 2.4 is mod_remoteip.c",
            )
    named = any(tree.named(*HEADERS))
    for line in tree.named(*ENABLED):
        on = line.args.strip().lower() == "on" and not named
        yield _finding(
            line,
            replace_statement(tree, line, [HEADER] if on else []),
            "RemoteIPHeader names the header; there is no switch",
        )
    for line in tree.named(*HEADERS):
        yield _finding(
            line,
            replace_statement(tree, line, [f"RemoteIPHeader {line.args.strip()}"]),
            "RemoteIPHeader names the header",
        )
    for line in tree.named(*PROXIES):
        words = [word for word in line.words() if word.lower() != "all"]
        yield _finding(
            line,
            replace_statement(tree, line, [f"RemoteIPInternalProxy {' '.join(words)}"] if words else []),
            "RemoteIPInternalProxy names the trusted servers",
        )
    for line in tree.named(*DROPPED):
        yield _finding(line, replace_statement(tree, line), "mod_remoteip has no such directive")


def _load(tree: ConfigTree, line: Statement) -> str:
    """Return the line with the other module, in the directory of httpd's own modules if there are any."""
    lines = load_module_lines(tree)
    if lines.template is not None:
        return lines.format_line("remoteip_module")
    source = line.file.document.bytes[line.node.start : line.node.end].decode("latin-1").strip()
    identifier = line.words()[0]
    return re.sub(
        r"(?<=[/\\])[^/\\\"]*\.so", "mod_remoteip.so", source.replace(identifier, "remoteip_module", 1)
    )


def _finding(line: Statement, edits: tuple[FileEdit, ...], what: str) -> Finding:
    name = f"<{line.node.name} {line.args}>" if line.is_section else f"{line.node.name} {line.args}".strip()
    advice = "check it: mod_remoteip trusts the header of the named servers only, from the last address on"
    return Finding(
        "X19",
        line.place,
        f"{name}: {what}",
        advice,
        Risk.BREAKS,
        Safety.REVIEW,
        edits,
        (
            "In log formats %a is the client that the header names and %{c}a the address of the "
            "connection; %h is the client too."
        ),
        decision="Does mod_remoteip trust the right servers, and those alone?",
    )


RULE = Rule("X19", "remote-address", "mod_rpaf and mod_extract_forwarded are mod_remoteip", check)
