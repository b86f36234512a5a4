"""Settings of mod_proxy: one record per server, one per directory.  Manual: mod/mod_proxy.html."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass, fields, replace
from whimbrel.base.static_typing import TYPE_CHECKING, Any
from whimbrel.modules.proxy.mod_proxy.model import BUFFER_SIZE, ProxyBalancer, ProxyWorker, generic_worker
from whimbrel.registry.settings import UNSET, appended, setting

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex
    from whimbrel.config.model import Layer
    from whimbrel.modules.proxy.mod_proxy.excluded_hosts import Destination


@dataclass(frozen=True, slots=True)
class ProxyAlias:
    """One ProxyPass, ProxyPassMatch, ProxyPassReverse or cookie line: *fake* here stands for *real* there.

    Attributes:
        regex: the expression of ProxyPassMatch, else None.
        nocanon, noquery, interpolate: the words of the line.
        encoded, servlet: ``mapping=``; `servlet` implies `encoded`.
    """

    fake: str
    real: str
    regex: Regex | None = None
    nocanon: bool = False
    noquery: bool = False
    interpolate: bool = False
    encoded: bool = False
    servlet: bool = False


@dataclass(frozen=True, slots=True)
class ProxyRemote:
    """One ProxyRemote or ProxyRemoteMatch line: the proxy for URLs that match.

    Attributes:
        match: ``*``, a scheme, or the beginning of a URL; `regex` replaces it for ProxyRemoteMatch.
        credentials: ``user:password`` for Proxy-Authorization, "" without.
    """

    match: str
    scheme: str
    hostname: str
    port: int
    regex: Regex | None = None
    credentials: str = ""


@dataclass(frozen=True, slots=True)
class ProxySection:
    """One <Proxy> or <ProxyMatch> section: *pattern* begins the URL, or is a wildcard if *is_fnmatch*."""

    pattern: str
    layer: Layer
    regex: Regex | None = None
    is_fnmatch: bool = False


@dataclass(slots=True)
class ProxyServerConfig:
    """Per-server settings.

    Attributes:
        workers: those of ProxyPass and <Proxy>, without members of balancers.
        aliases: ProxyPass and ProxyPassMatch lines outside of sections, in file order.
        sections: <Proxy> and <ProxyMatch>. `remotes`: ProxyRemote and ProxyRemoteMatch.
        blocked: ProxyBlock. `direct`: NoProxy.
        requests: ProxyRequests: True for a forward proxy.
        via: "off", "on", "full" or "block". `bad_header`: "iserror", "ignore" or "startbody".
        proxy_status: "off", "on" or "full".
        max_forwards: the Max-Forwards field to add, none if negative.
        timeout: ProxyTimeout in seconds, None: TimeOut.
        source_address: the local address for connections, "" for any.
        inherit: BalancerInherit. `pass_inherit`: ProxyPassInherit.
        connect_ports: AllowCONNECT of 2.2.
        maps_encoded: on the main server: a line has ``mapping=``.
        forward, reverse: the implicit workers.
    """

    workers: list[ProxyWorker] = setting(make=list)
    balancers: list[ProxyBalancer] = setting(make=list)
    aliases: list[ProxyAlias] = setting(make=list, merge=appended)
    sections: list[ProxySection] = setting(make=list, merge=appended)
    remotes: list[ProxyRemote] = setting(make=list)
    blocked: list[Destination] = setting(make=list, merge=appended)
    direct: list[Destination] = setting(make=list, merge=appended)
    domain: str = setting("")
    requests: bool = setting(False)
    via: str = setting("off")
    bad_header: str = setting("iserror")
    proxy_status: str = setting("off")
    max_forwards: int = setting(-1)
    timeout: float | None = setting(None)
    io_buffer_size: int = setting(BUFFER_SIZE)
    receive_buffer_size: int = setting(0)
    source_address: str = setting("")
    inherit: bool = setting(True)
    pass_inherit: bool = setting(True)
    balancer_growth: int = setting(5)
    balancer_persist: bool = setting(False)
    connect_ports: list[int] = setting(make=list, merge=appended)
    maps_encoded: bool = setting(False)
    forward: ProxyWorker = setting(make=lambda: generic_worker("proxy:forward"))
    reverse: ProxyWorker = setting(make=lambda: generic_worker("proxy:reverse"))

    def merge_onto(self, base: ProxyServerConfig) -> ProxyServerConfig:
        """Return this virtual host's record over the main server's (merge_proxy_config)."""
        merged = ProxyServerConfig()
        for each in fields(ProxyServerConfig):
            low = getattr(base, each.name)
            high = getattr(self, each.name)
            combine = each.metadata.get("merge")
            if high is UNSET:
                high = low
            elif combine is not None and low is not UNSET:
                high = combine(low, high)
            setattr(merged, each.name, high)
        pass_inherit = merged.pass_inherit is not False
        merged.remotes = _joined(base.remotes, self.remotes) if pass_inherit else self.remotes
        if pass_inherit or merged.inherit is not False:
            merged.workers = _joined(base.workers, self.workers)
            merged.balancers = _merged_balancers(base.balancers, self.balancers)
        else:
            merged.workers = self.workers
            merged.balancers = self.balancers
        merged.balancer_persist = self.balancer_persist
        return merged


def _joined(base: Any, over: Any) -> Any:
    if base is UNSET:
        return over
    if over is UNSET:
        return base
    return base + over


def _merged_balancers(base: Any, over: Any) -> Any:
    """Return the balancers of both; one that both define has the outer members and the inner parameters."""
    if base is UNSET or over is UNSET:
        return _joined(base, over)
    own = {balancer.name for balancer in over}
    outer = {balancer.name: balancer for balancer in base}
    for balancer in over:
        same = outer.get(balancer.name)
        if same is not None:
            _complete(balancer, same)
    return [balancer for balancer in base if balancer.name not in own] + over


def _complete(balancer: ProxyBalancer, outer: ProxyBalancer) -> None:
    """Give *balancer* the members of *outer*, and the parameters that only *outer* sets."""
    mine = balancer.parameters
    theirs = outer.parameters
    balancer.members = outer.members
    balancer.section = outer.section
    codes = mine.failonstatus + theirs.failonstatus
    taken = {
        name: getattr(theirs, name)
        for name in ("sticky", "sticky_path", *(theirs.given - {"stickysession", "failonstatus"}))
        if name not in mine.given and not (name in ("sticky", "sticky_path") and mine.sticky)
    }
    balancer.parameters = replace(mine, given=mine.given | theirs.given, failonstatus=codes, **taken)


@dataclass(slots=True)
class ProxyDirConfig:
    """Per-directory settings.

    Attributes:
        alias: the ProxyPass of a <Location>, None without one.
        reverse_aliases: ProxyPassReverse; `cookie_paths`, `cookie_domains`: ProxyPassReverseCookie*.
        error_override: ProxyErrorOverride; `error_override_codes`: the statuses that it is for, () for all.
        forwards_continue: Proxy100Continue.
    """

    alias: ProxyAlias | None = setting(None)
    reverse_aliases: list[ProxyAlias] = setting(make=list, merge=appended)
    cookie_paths: list[ProxyAlias] = setting(make=list, merge=appended)
    cookie_domains: list[ProxyAlias] = setting(make=list, merge=appended)
    interpolate_env: bool = setting(False)
    preserve_host: bool = setting(False)
    error_override: bool = setting(False)
    error_override_codes: tuple[int, ...] = setting((), merge=appended)
    add_headers: bool = setting(True)
    forwards_continue: bool = setting(True)

    def overrides(self, status: int) -> bool:
        """Return True if ProxyErrorOverride replaces the pages of *status* (ap_proxy_should_override)."""
        if not self.error_override:
            return False
        codes = self.error_override_codes
        return status in codes if codes else 400 <= status < 600
