"""Workers and balancers: httpd's proxy_worker and proxy_balancer, without their run-time state.

They are made while the configuration is read and stay unchanged while requests are served. State that changes
(status bits, elections, error times) lives in shared memory, at the `index` of the worker or balancer.
Manual: mod/mod_proxy.html#workers.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.numbers import is_digits, lower
from whimbrel.base.static_typing import Any, Final, IntFlag
from whimbrel.http.syntax.target import default_port, split_url, unsplit

BALANCER_PREFIX: Final = "balancer://"
BUFFER_SIZE: Final = 8192  # AP_IOBUFSIZE, and HUGE_STRING_LEN for response fields
FLUSH_WAIT: Final = 0.01  # seconds
RETRY: Final = 60.0
PROXY_PORTS: Final = {"fcgi": 8000, "ajp": 8009, "scgi": 4000, "h2c": 80, "h2": 443, "ws": 80, "wss": 443}
LOAD_UNIT: Final = 100  # a load factor of 1
# methods of health checks, in httpd's order
HEALTH_METHODS: Final = ("NONE", "TCP", "OPTIONS", "HEAD", "GET", "CPING", "OPTIONS11", "HEAD11", "GET11")


class WorkerStatus(IntFlag):
    """Status bits of a worker: PROXY_WORKER_*; the names of `LETTERS` set them in the parameter status."""

    NONE = 0
    INITIALIZED = 0x1
    IGNORE_ERRORS = 0x2
    DRAIN = 0x4
    GENERIC = 0x8
    IN_SHUTDOWN = 0x10
    DISABLED = 0x20
    STOPPED = 0x40
    IN_ERROR = 0x80
    HOT_STANDBY = 0x100
    FREE = 0x200
    HC_FAIL = 0x400
    HOT_SPARE = 0x800
    UNUSABLE = STOPPED | DISABLED | IN_ERROR | HC_FAIL


LETTERS: Final = {
    "O": WorkerStatus.INITIALIZED,
    "I": WorkerStatus.IGNORE_ERRORS,
    "N": WorkerStatus.DRAIN,
    "G": WorkerStatus.GENERIC,
    "U": WorkerStatus.IN_SHUTDOWN,
    "D": WorkerStatus.DISABLED,
    "S": WorkerStatus.STOPPED,
    "E": WorkerStatus.IN_ERROR,
    "H": WorkerStatus.HOT_STANDBY,
    "R": WorkerStatus.HOT_SPARE,
    "F": WorkerStatus.FREE,
    "C": WorkerStatus.HC_FAIL,
}


@dataclass(slots=True)
class WorkerParameters:
    """The parameters of a worker, with httpd's names and defaults; times are seconds.

    Attributes:
        given: names of the parameters that a line set (httpd's `_set` flags).
        max: connections of one process; 0: as many as the process has threads; `smax` -1: as `max`.
        timeout: None: ProxyTimeout, then TimeOut. `connectiontimeout` None: as `timeout`.
        acquire, ping: None without one. `ttl` 0: connections above `smax` stay open.
        disablereuse: True if connections are closed after each response.
        flushpackets: "on", "off" or "auto".
        loadfactor: hundredths, as httpd 2.4 stores it.
        upgrade: protocols to tunnel, "*" for any.
        health: parameters of mod_proxy_hcheck, as written.
    """

    given: set[str] = field(default_factory=set)
    min: int = 0
    smax: int = -1
    max: int = 0
    acquire: float | None = None
    timeout: float | None = None
    connectiontimeout: float | None = None
    retry: float = RETRY
    ttl: float = 0.0
    ping: float | None = None
    keepalive: bool = False
    disablereuse: bool = False
    flushpackets: str = "off"
    flushwait: float = FLUSH_WAIT
    flusher: str = "flush"
    iobuffersize: int = BUFFER_SIZE
    receivebuffersize: int = 0
    responsefieldsize: int = BUFFER_SIZE
    addressttl: int = -1
    route: str = ""
    redirect: str = ""
    loadfactor: int = LOAD_UNIT
    lbset: int = 0
    status: WorkerStatus = WorkerStatus.NONE
    secret: str = ""
    upgrade: str = ""
    health: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ProxyWorker:
    """One back end as configured: a base URL, and how connections to it are made.

    Attributes:
        name: the normalized URL as httpd's messages print it, without a Unix socket (name_ex).
        port: the number to connect to: that of the URL, or the scheme's default.
        uds_path: the absolute path of a Unix socket, "" for TCP.
        path: the URL's path, maybe "".
        is_match: `name` has `$1` ... of ProxyPassMatch, which stand for any text (is_name_matchable).
        is_generic: the implicit worker ``proxy:forward`` or ``proxy:reverse``: it connects to any host.
        is_address_reusable: False for generic workers: every request looks its host up.
        balancer: the balancer of a member, else None.
        section: the layer of its <Proxy> section, whose settings (SSLProxy*) connections use; or None.
        index: its place in the shared memory of workers; set when the configuration is complete.
    """

    name: str
    scheme: str
    hostname: str
    port: int
    uds_path: str = ""
    path: str = ""
    is_match: bool = False
    is_generic: bool = False
    is_address_reusable: bool = True
    balancer: ProxyBalancer | None = None
    parameters: WorkerParameters = field(default_factory=WorkerParameters)
    section: Any = None
    index: int = -1

    @property
    def printed(self) -> str:
        """Return the name with the Unix socket (ap_proxy_worker_name)."""
        return f"unix:{self.uds_path}|{self.name}" if self.uds_path else self.name


@dataclass(slots=True)
class BalancerParameters:
    """The parameters of a balancer, with httpd's names and defaults.

    Attributes:
        given: names of the parameters that a line set.
        sticky: the cookie's name; `sticky_path`: the URL parameter's, the same unless ``a|b`` was given.
        stickysessionsep: the character between session and route, "" for Off.
        timeout: seconds to wait for a free member. `maxattempts` None: one less than there are members.
        nonce: None: random at start; "": the manager checks none.
        growth: members that the manager may add; None: BalancerGrowth's default.
    """

    given: set[str] = field(default_factory=set)
    sticky: str = ""
    sticky_path: str = ""
    stickysessionsep: str = "."
    nofailover: bool = False
    scolonpathdelim: bool = False
    timeout: float = 0.0
    maxattempts: int | None = None
    lbmethod: str = "byrequests"
    failonstatus: tuple[int, ...] = ()
    failontimeout: bool = False
    forcerecovery: bool = True
    nonce: str | None = None
    growth: int | None = None


@dataclass(slots=True, eq=False)
class ProxyBalancer:
    """One balancer: a name without path (``balancer://NAME``, lower case), members, parameters.

    Attributes:
        path, host: URL path and host of the first ProxyPass to it (httpd's vpath and vhost).
        section: as of `ProxyWorker`. `index`: its place in the shared memory of balancers.
        first_added: the `index` of the first member that the manager adds.
    """

    name: str
    members: list[ProxyWorker] = field(default_factory=list)
    parameters: BalancerParameters = field(default_factory=BalancerParameters)
    path: str = ""
    host: str = ""
    section: Any = None
    index: int = -1
    first_added: int = -1


# Names ------------------------------------------------------------------------------------------
def port_of_scheme(scheme: str) -> int:
    """Return the port that a back end of *scheme* has by default, 0 for an unknown scheme."""
    return PROXY_PORTS.get(scheme, 0) or default_port(scheme)


def is_balancer_url(url: str) -> bool:
    """Return True if *url* names a balancer."""
    return lower(url[: len(BALANCER_PREFIX)]) == BALANCER_PREFIX


def without_socket(url: str) -> str | None:
    """Return *url* without ``unix:PATH|``; None if nothing usable follows (ap_proxy_de_socketfy)."""
    before, bar, rest = url.partition("|")
    if lower(before[:5]) != "unix:" or not bar:
        return url
    if ":" not in rest:
        return None
    return f"{rest}//localhost" if rest.endswith(":") and rest.count(":") == 1 else rest


def generic_worker(name: str) -> ProxyWorker:
    """Return the implicit worker *name*: ``proxy:forward`` or ``proxy:reverse``."""
    worker = ProxyWorker(name, "*", "*", 80, is_generic=True, is_address_reusable=False)
    worker.parameters.status = WorkerStatus.IGNORE_ERRORS | WorkerStatus.GENERIC
    return worker


def define_worker(
    url: str, socket_path: str = "", *, is_match: bool = False, may_lack_name: bool = False
) -> ProxyWorker:
    """Return a new worker for *url*, whose ``unix:`` part was resolved to *socket_path*.

    *may_lack_name*: the host may be an empty text, as in 2.2. Raises ConfigError with httpd's message for a
    URL that names no host.
    """
    text, dollars = _without_references(url) if is_match else (url, "")
    uri = split_url(text)
    if uri is None:
        raise ConfigError(f"Unable to parse URL: {url}")
    has_host = bool(uri.hostname or socket_path) or (may_lack_name and uri.hostname is not None)
    if uri.scheme is None or not has_host:
        raise ConfigError(f"URL must be absolute!: {url}")
    scheme = lower(uri.scheme)
    host = lower(uri.hostname or ("" if may_lack_name else "localhost"))
    default = port_of_scheme(scheme)
    port_text = None if uri.port in (0, default) else uri.port_text
    path = dollars + (uri.path or "")
    name = unsplit(
        replace(uri, scheme=scheme, hostname=host, port_text=port_text, path=path), reveal_password=True
    )
    worker = ProxyWorker(name, scheme, host, uri.port or default, socket_path, path, is_match)
    worker.parameters.disablereuse = is_match and "$" in name
    return worker


def _without_references(url: str) -> tuple[str, str]:
    """Return *url* without the ``$1`` that follow a port, and these: they stand before the path."""
    start = url.find("://") + 3
    end = next((at for at in range(start, len(url)) if url[at] in ":/"), len(url))
    if start < 3 or url[end : end + 1] != ":":
        return url, ""
    while end < len(url) and url[end] != "/":
        if url[end] == "$" and is_digits(url[end + 1 : end + 2]):
            slash = url.find("/", end)
            stop = len(url) if slash < 0 else slash
            return url[:end] + url[stop:], url[end:stop]
        end += 1
    return url, ""


# Lookup -----------------------------------------------------------------------------------------
def find_balancer(balancers: list[ProxyBalancer], url: str) -> ProxyBalancer | None:
    """Return the balancer that *url* names, maybe followed by a path (ap_proxy_get_balancer)."""
    scheme, mark, rest = url.partition("://")
    if not mark or not rest:
        return None
    name = lower(f"{scheme}://{rest.partition('/')[0]}")
    return next((balancer for balancer in balancers if balancer.name == name), None)


def find_worker(
    workers: list[ProxyWorker], url: str, *, prefixes: bool = True, matches: bool = True
) -> ProxyWorker | None:
    """Return the worker with the longest name that begins *url*, None without one (ap_proxy_get_worker_ex).

    The name covers at least scheme, host and port. *prefixes* and *matches* choose the kinds of workers.
    """
    scheme, mark, rest = url.partition("://")
    if not mark or not rest:
        return None
    host, slash, path = rest.partition("/")
    site = lower(f"{scheme}://{host}")
    wanted = site + slash + path
    best = None
    longest = 0
    for worker in workers:
        size = len(worker.name)
        if size < len(site) or size <= longest or size > len(wanted):
            continue
        if (
            matches and is_like(wanted, worker.name)
            if worker.is_match
            else prefixes and wanted.startswith(worker.name)
        ):
            best = worker
            longest = size
    return best


def is_like(text: str, pattern: str) -> bool:
    """Return True if *text* begins with *pattern*, where each ``$1`` stands for any text, and a backslash for
    the character after it.

    The pieces between the references are looked for from left to right, so that time is linear.
    """
    first, *others = _pieces(pattern)
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in others:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _pieces(pattern: str) -> list[str]:
    """Return the literal texts before, between and after references."""
    pieces = []
    literal = ""
    at = 0
    while at < len(pattern):
        if pattern[at] == "$" and is_digits(pattern[at + 1 : at + 2]):
            pieces.append(literal)
            literal, at = "", at + 2
            continue
        if pattern[at] == "\\":
            at += 1
        literal += pattern[at : at + 1]
        at += 1
    return [*pieces, literal]
