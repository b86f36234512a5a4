"""Settings of mod_proxy_http that are compiled once for each plan."""

from __future__ import annotations

from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import upper
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.request import Request
from whimbrel.http.client.response_rules import RULES_22, RULES_24, BadHeaderPolicy, ResponseRules
from whimbrel.modules.proxy.mod_proxy.model import ProxyWorker
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tls import is_secure

_KEYS: Final = ("proxy_http rules", "proxy_http rules of TLS")
MAX_READERS: Final = 64
_POLICIES: Final = {
    "iserror": BadHeaderPolicy.ERROR,
    "ignore": BadHeaderPolicy.IGNORE,
    "startbody": BadHeaderPolicy.START_BODY,
}


class HttpRules:
    """What the settings of one plan say about requests to HTTP back ends.

    Attributes:
        old: they are those of 2.2.
        is_secure: the scheme has TLS. `function`: its name in messages.
    """

    __slots__ = ("_readers", "function", "is_secure", "old")

    def __init__(self, call: ProxyCall, secure: bool) -> None:
        self.is_secure = secure
        self.old = not call.r.plan.dialect.messages_24
        name = "https" if secure else "http"
        self.function = upper(name) if self.old else name
        self._readers: BoundedDict[int, ResponseRules] = BoundedDict(MAX_READERS)

    def reader_rules(self, call: ProxyCall, worker: ProxyWorker) -> ResponseRules:
        """Return the leniency with answers of *worker*."""
        size = worker.parameters.responsefieldsize
        rules = self._readers.get(size)
        if rules is None:
            core = call.r.plan.server_core
            rules = replace(
                RULES_22 if self.old else RULES_24,
                field_size=size,
                bad_header=_POLICIES[call.conf.bad_header],
                chunk_limits=head_limits(core),
                chunk_options=head_rules(core, call.r.engine.configuration),
            )
            self._readers[size] = rules
        return rules

    def overrides(self, call: ProxyCall, status: int) -> bool:
        """Return True if ProxyErrorOverride replaces the pages of *status*."""
        return call.dir_conf.overrides(status)


def rules_of(call: ProxyCall) -> HttpRules:
    """Return the rules of the request's plan."""
    r: Request = call.r
    secure = call.url[:7] != "http://" and is_secure(call.url)
    key = _KEYS[secure]
    rules: HttpRules | None = r.plan.notes.get(key)
    if rules is None:
        rules = HttpRules(call, secure)
        r.plan.notes[key] = rules
    return rules
