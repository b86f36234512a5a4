"""C38: mod_reqtimeout has default timeouts. Document: documents/C38-request-read-timeout.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import change_args, insert_below
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import lines_for_24, server_of


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding if the module is loaded and the main server sets no timeout, or that of one part of a
    request only."""
    lines = [line for line in lines_for_24(tree, "requestreadtimeout") if server_of(line) is None]
    given = {word.partition("=")[0].lower() for line in lines for word in line.words()}
    missing = [f"{part}=0" for part in ("header", "body") if part not in given]
    message = (
        "mod_reqtimeout has default timeouts in 2.4: header=20-40,MinRate=500 "
        "body=20,MinRate=500; 2.2 had none"
    )
    advice = (
        f"write {' '.join(missing)}, the defaults of 2.2, or keep the new ones, which protect "
        "against slow clients"
    )
    if not missing:
        return
    old = [line for line in lines if line.in_22 is not False]
    if old:
        edits = change_args(tree, old[-1], f"{old[-1].args.strip()} {' '.join(missing)}")
        yield Finding("C38", old[-1].place, message, advice, Risk.CHANGES, Safety.SAFE, edits)
        return
    for line in _loads(tree):
        edits = insert_below(tree, line, [f"RequestReadTimeout {' '.join(missing)}"])
        yield Finding("C38", line.place, message, advice, Risk.CHANGES, Safety.SAFE, edits)
        break


def _loads(tree: ConfigTree) -> Iterator[Statement]:
    return (line for line in tree.named("loadmodule") if line.words()[:1] == ["reqtimeout_module"])


RULE = Rule("C38", "request-read-timeout", "mod_reqtimeout sets time-outs by itself", check)
