"""C14: NameVirtualHost has no effect: virtual hosts with the same address are selected by name.

Document: documents/C14-name-virtual-host.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import is_24_config, main_statements, was_24_config
from whimbrel.upgrade.source.virtual_hosts import DEFINE_NAME, VirtualHost, virtual_host_plan

DIFFERENT: Final = (
    "2.4 selects these virtual hosts by other rules than 2.2, and no change of their "
    "addresses restores the selection of 2.2"
)
PARTIAL: Final = "check the files that were not read: one of them may contain the NameVirtualHost line"
ADVICE: Final = "check with `httpd -S` which virtual host answers for which name"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Remove the lines of a configuration that was one of 2.4.

    In one of 2.2 they decide which virtual hosts it selects; the others are disabled.
    """
    if _was_ready(tree):
        yield from _lines(tree)
    if not _is_ready(tree) and any(tree.named("<virtualhost")):
        yield from _unreachable(tree)


def check_loaded(tree: ConfigTree) -> Iterator[Finding]:
    """Remove the lines of a configuration that became one of 2.4: the rules before need not run again."""
    if not _was_ready(tree):
        yield from _lines(tree)


def _was_ready(tree: ConfigTree) -> bool:
    return was_24_config(tree) or not main_statements(tree)


def _is_ready(tree: ConfigTree) -> bool:
    return is_24_config(tree) or not main_statements(tree)


def _lines(tree: ConfigTree) -> Iterator[Finding]:
    ready = _is_ready(tree)
    lines = list(tree.named("namevirtualhost"))
    hosts = any(tree.named("<virtualhost"))
    equal = not (lines and ready and hosts) or virtual_host_plan(tree).effective_addresses()[1]
    for line in lines:
        yield _line_finding(tree, line, ready=ready, equal=equal)


def _line_finding(tree: ConfigTree, line: Statement, *, ready: bool, equal: bool) -> Finding:
    message = (
        "NameVirtualHost has no effect and logs AH00548: virtual hosts with the same address "
        "are selected by name"
    )
    if not ready:
        return Finding(
            "C14", line.place, message, "remove it once the modules of 2.4 are loaded", Risk.COSMETIC
        )
    if equal:
        return Finding(
            "C14", line.place, message, "remove it", Risk.COSMETIC, Safety.SAFE, replace_statement(tree, line)
        )
    return Finding(
        "C14",
        line.place,
        f"{message}; {DIFFERENT}",
        ADVICE,
        Risk.CHANGES,
        Safety.REVIEW,
        replace_statement(tree, line),
    )


def _unreachable(tree: ConfigTree) -> Iterator[Finding]:
    """Yield virtual hosts that 2.2 never selected, because no NameVirtualHost has their address."""
    host_plan = virtual_host_plan(tree)
    words, equal = host_plan.effective_addresses()
    for host in host_plan.hosts:
        if words[host] != host.words:
            finding = _finding(host, words[host])
            yield (
                replace(finding, advice=f"{PARTIAL}; {finding.advice}", safety=Safety.MANUAL, edits=())
                if tree.has_unread_files
                else finding
            )
    if not equal:
        last = host_plan.hosts[-1].statement
        yield Finding("C14", last.place, DIFFERENT, ADVICE)


def _finding(host: VirtualHost, words: list[str]) -> Finding:
    lost = " ".join(word for word in host.words if word not in words)
    message = (
        f"2.2 never selected this virtual host at {lost}: without a NameVirtualHost for the "
        "address another one answers there for all names"
    )
    if words:
        return Finding(
            "C14",
            host.statement.place,
            message,
            "remove the address, or let 2.4 select by name if that is wanted",
            Risk.CHANGES,
            Safety.REVIEW,
            (host.statement.replace_args(" ".join(words) + ">"),),
            decision=f"May this virtual host stay without {lost}, as in 2.2?",
        )
    advice = f"disable it (-D {DEFINE_NAME} enables it again), or let 2.4 select by name if that is wanted"
    return Finding(
        "C14",
        host.statement.place,
        message,
        advice,
        Risk.CHANGES,
        Safety.REVIEW,
        _switched_off(host.statement),
        decision="May this virtual host stay switched off, as in 2.2?",
    )


def _switched_off(section: Statement) -> tuple[FileEdit, ...]:
    return section.insert_before([f"<IfDefine {DEFINE_NAME}>"]), section.insert_after(["</IfDefine>"])


RULE = Rule("C14", "name-virtual-host", "NameVirtualHost has no effect", check, check_loaded=check_loaded)
