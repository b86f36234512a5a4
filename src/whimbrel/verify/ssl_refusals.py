"""The lines by which mod_ssl's access checker refused a request, from the messages of its hook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.config.origins import Origin, item_key
from whimbrel.engine.explain.decisions import RequestTrace
from whimbrel.engine.explain.hook_traces import HookTrace
from whimbrel.modules.ssl.mod_ssl.settings import SslDirConfig

_NO_TLS: Final = "reason: SSL connection required"
"""A part of the message about SSLRequireSSL, which has a code in 2.4 alone."""
_REQUIREMENT: Final = "SSL requirement expression"
"""A part of the messages about SSLRequire, which have codes in 2.4 alone."""
_FAILED: Final = "Failed expression: "
"""The begin of the message with the condition of SSLRequire that fails, which has a code in 2.4 alone."""


def condition_lines(trace: HookTrace) -> Iterator[Origin]:
    """Yield the lines of the conditions that failed in a hook of mod_ssl: SSLRequireSSL without TLS, else the
    SSLRequire whose condition the log has.

    A condition that cannot be evaluated is not logged, so that all lines are named. Nothing if no condition
    failed.
    """
    texts = [line.text for line in trace.log]
    if any(_NO_TLS in text for text in texts):
        yield from trace.plan.origin(SslDirConfig, "requires_tls")[-1:]
    elif any(_REQUIREMENT in text for text in texts):
        failed = {text.partition(_FAILED)[2] for text in texts}
        required = trace.plan.dir_config(SslDirConfig).requirements
        keys = [item_key(one) for one in required if one.text in failed]
        lines = [line for key in keys for line in trace.plan.origin(SslDirConfig, "requirements", key)]
        yield from lines or trace.plan.origin(SslDirConfig, "requirements")


def refused_lines(trace: RequestTrace) -> Iterator[Origin]:
    """Yield the lines by which mod_ssl refused the request, whether or not Satisfy Any admitted it."""
    hooks: Iterable[HookTrace] = trace.hooks
    for hook in hooks:
        if hook.module == "mod_ssl" and hook.status == 403:
            yield from condition_lines(hook)
