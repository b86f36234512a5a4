"""R15: JkMount lines as mod_proxy_ajp has them. Document: documents/R15-jk-mounts.md"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import quoted
from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.workers_file import JkWorker, read_workers
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each JkMount and JkUnMount, with the lines of mod_proxy_ajp as a proposal."""
    workers: dict[str, JkWorker] = {}
    for line in tree.named("jkworkersfile"):
        for name in line.words()[:1]:
            workers |= read_workers(tree.disk.on_disk(root_relative(tree.text_root or "/", name)))
    for line in tree.named("jkmount", "jkunmount"):
        words = line.words()
        if len(words) == 2:
            yield _finding(tree, line, *_proposal(line.name, words[0], workers.get(words[1]), words[1]))


def _proposal(name: str, pattern: str, worker: JkWorker | None, worker_name: str) -> tuple[list[str], str]:
    """Return the lines that replace one, and what is missing for them; one of both is empty."""
    if name == "jkunmount":
        return _mounts(pattern, "!"), ""
    if worker is None:
        return [], f"no file of JkWorkersFile that is here has the worker {worker_name}"
    if worker.kind == "lb":
        url = f"balancer://{worker.name}"
        members = [f'    BalancerMember "{member.origin}" route={member.name}' for member in worker.members]
        head = [f'<Proxy "{url}">', *members, "    ProxySet stickysession=JSESSIONID|jsessionid", "</Proxy>"]
        return [*head, *_mounts(pattern, url)], ""
    if worker.kind != "ajp13":
        return [], f"the worker {worker_name} is of the type {worker.kind}"
    return _mounts(pattern, worker.origin), ""


def _mounts(pattern: str, origin: str) -> list[str]:
    """Return the ProxyPass lines of a pattern of mod_jk: a path, with ``*`` for any text, and ``|/*`` for
    what lies below.
    """
    if pattern.endswith("|/*"):
        pattern = pattern.removesuffix("|/*")
        return [_pass(pattern, origin, "" if origin == "!" else pattern)]
    bare = pattern.removesuffix("*")
    if bare.endswith("/") and "*" not in bare and "?" not in bare:
        return [_pass(bare, origin, "" if origin == "!" else bare)]
    parts = [{"*": ".*", "?": "."}.get(part, re.escape(part)) for part in re.split(r"([*?])", pattern)]
    return [f"ProxyPassMatch {quoted('^' + ''.join(parts) + '$')} {quoted(origin)}"]


def _pass(path: str, origin: str, below: str) -> str:
    return f'ProxyPass "{path}" "{origin}{below}"'


def _finding(tree: ConfigTree, line: Statement, lines: list[str], missing: str) -> Finding:
    text = " ".join(lines) if len(lines) == 1 else "; ".join(entry.strip() for entry in lines)
    advice = f"write: {text}" if lines else f"write a ProxyPass line for mod_proxy_ajp: {missing}"
    return Finding(
        "R15",
        line.place,
        f"{line.node.name} {line.args} needs mod_jk, which httpd does not distribute; mod_proxy_ajp speaks "
        "the same protocol",
        f"{advice}; or install mod_jk for 2.4",
        Risk.BREAKS,
        edits=replace_statement(tree, line, lines) if lines else (),
    )


RULE = Rule("R15", "jk-mounts", "JkMount is ProxyPass of mod_proxy_ajp", check)
