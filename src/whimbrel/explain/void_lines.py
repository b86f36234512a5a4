"""Lines that a request does not reach although they stand on its way: replaced rules of rewriting, and
.htaccess files that AllowOverride leaves unread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from itertools import groupby
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.errors import SourceLocation
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.origins import Origin
from whimbrel.engine.explain.decisions import RequestTrace
from whimbrel.engine.plan.plan import Plan
from whimbrel.explain.step import ExplanationStep
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteDirConfig, RewriteServerConfig

VOID: Final = "not tried"
"""The result of the steps of rules that are not tried."""
UNREAD: Final = "not read"
"""The result of the steps of files that are not read."""
_REPLACED: Final = "the rewriting of {} replaces them (RewriteOptions Inherit there would add them)"
_OFF: Final = "RewriteEngine is off there"
_NOT_INHERITED: Final = "a virtual host has no rules of the main server without RewriteOptions Inherit"


def void_rules(trace: RequestTrace, evaluated: Set[SourceLocation | None]) -> Iterator[ExplanationStep]:
    """Iterate over the steps of rules in settings of this request that mod_rewrite does not try, by file;
    *evaluated*: the places of those that it tried for this request or for one that led to it.
    """
    plan: Plan | None = trace.plan
    if plan is None:
        return
    of_directory = plan.dir_config(RewriteDirConfig)
    reason = _REPLACED.format(of_directory.directory) if of_directory.engine else _OFF
    tried = {rule.place for rule in of_directory.rules} if of_directory.engine else set()
    tried |= evaluated
    of_servers = plan.origins(RewriteServerConfig)  # directories have them too, where nothing tries them
    yield from _steps(plan.origins(RewriteDirConfig), tried | {line.place for line in of_servers}, reason)
    of_server = plan.server_config(RewriteServerConfig)
    is_foreign = plan.server_rec.is_virtual and of_server.engine
    reason = _NOT_INHERITED if is_foreign else _OFF
    tried = {rule.place for rule in of_server.rules} if of_server.engine else set()
    tried |= evaluated
    yield from _steps(of_servers, tried, reason)


def _steps(lines: Iterable[Origin], tried: Set[object], reason: str) -> Iterator[ExplanationStep]:
    rules = [line for line in lines if line.text.lower().startswith("rewriterule")]
    void = [line for line in rules if line.place not in tried]
    for path, group in groupby(void, lambda line: line.place.path):
        found = tuple(group)
        yield ExplanationStep("rules", f"{count_noun(len(found), 'rule')} of {path}", VOID, found, reason)


def unread_htaccess(plan: Plan, filename: str) -> Iterator[ExplanationStep]:
    """Iterate over the .htaccess files on the way to *filename* that are there and not read."""
    if plan.core.override != 0:
        return
    lines: tuple[Origin, ...] = plan.origin(CoreDirConfig, "override")[-1:]
    reason = "AllowOverride None" if lines else "AllowOverride None, the default of 2.4"
    names = plan.server_config(CoreServerConfig).access_names
    disk = plan.cache.configuration.disk
    directory = filename if disk.is_directory(filename) else os.path.dirname(filename)
    for name in names:
        path = os.path.join(directory, name)
        if disk.is_file(path):
            yield ExplanationStep(".htaccess", disk.openable(path), UNREAD, lines, reason)
