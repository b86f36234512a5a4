"""mod_evasive: refuse clients that send too many requests for one page, or for the site.

Behaviour, messages and the file that marks a blocked address are those of 1.10.1, Debian's. All settings are
the process's own: a line in a virtual host counts for all. The counters, which are those of one process
there, are in memory that all workers share; its size is fixed (`Counters`).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from mmap import mmap
from struct import Struct
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import numeric_address
from whimbrel.base.numbers import strtol
from whimbrel.base.programs import may_start_programs, require_programs
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import of_main, set_value
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope, Segment
from whimbrel.registry.phases import ACCESS_CHECKER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

SEGMENT: Final = "evasive-counters"
MAX_KEY: Final = 2047  # bytes of an address and a URL that are told apart
MAX_TABLE: Final = 98_317  # sets of counters, whatever DOSHashTableSize says
COUNTERS_PER_SET: Final = 8  # counters of one set: the oldest gives way to a new one
MAX_NOTICES: Final = 16  # programs of a worker that run at once
_PRIMES: Final = (*(53, 97, 193, 389, 769, 1543, 3079, 6151, 12_289, 24_593, 49_157, 98_317),)
_COUNTER: Final = Struct("<16sqq")  # digest of the key, time of the last request, requests before it
_MAILER: Final = "/usr/bin/mail"


@dataclass(slots=True)
class EvasiveServerConfig:
    """Settings of the process, in the main server's record."""

    table_size: int = setting(3097)
    page_count: int = setting(2)
    page_interval: int = setting(1)
    site_count: int = setting(50)
    site_interval: int = setting(1)
    blocking_period: int = setting(10)
    status: int = setting(403)
    mail_to: str = setting("")
    log_directory: str = setting("/tmp")  # as mod_evasive has it
    command: str = setting("")
    whitelist: frozenset[str] = setting(frozenset())


def _number(field: str, default: int) -> Setter:
    def read(word: str) -> int:
        value = strtol(word, 0)[0]
        return value if value > 0 else default

    return of_main(EvasiveServerConfig, set_value(field, read))


def _text(field: str) -> Setter:
    def apply(cmd: Command, _conf: object, words: list[str]) -> None:
        if words[0]:
            setattr(cmd.main_server(EvasiveServerConfig), field, words[0])

    return apply


def add_to_whitelist(cmd: Command, _conf: object, words: list[str]) -> None:
    """Add an address, or one whose last parts are ``*``."""
    conf = cmd.main_server(EvasiveServerConfig)
    known = conf.whitelist if isinstance(conf.whitelist, frozenset) else frozenset()
    conf.whitelist = known | {words[0]}


# counters -----------------------------------------------------------------------------------------
def table_sets(size: int) -> int:
    """Return the sets of a table of DOSHashTableSize *size*: the next prime of the list, within the bound."""
    at = bisect_left(_PRIMES, size)
    return _PRIMES[at] if at < len(_PRIMES) else MAX_TABLE


class Counters:
    """Counters by key in shared memory: the digest of a key chooses a set of COUNTERS_PER_SET of them.

    Validity: mod_evasive's intervals. Bound: the segment. Eviction: the counter whose last request is the
    oldest of its set. Workers write without a lock: of requests at the same moment one may not be counted.
    """

    __slots__ = ("_memory", "_sets")

    def __init__(self, memory: mmap) -> None:
        self._memory = memory
        self._sets = len(memory) // (_COUNTER.size * COUNTERS_PER_SET)

    def _place(self, key: bytes) -> tuple[int, bytes, bool]:
        """Return the offset for *key*, its digest, and True if it has that counter."""
        import hashlib  # slow import that -t must not pay

        digest = hashlib.blake2b(key[:MAX_KEY], digest_size=16).digest()
        first = int.from_bytes(digest[:8], "little") % self._sets * COUNTERS_PER_SET * _COUNTER.size
        oldest = first
        age = None
        for at in range(first, first + COUNTERS_PER_SET * _COUNTER.size, _COUNTER.size):
            known, time, _count = _COUNTER.unpack_from(self._memory, at)
            if known == digest:
                return at, digest, True
            if age is None or time < age:
                oldest = at
                age = time
        return oldest, digest, False

    def find(self, key: bytes) -> tuple[int, int] | None:
        """Return time and count of *key*."""
        at, _digest, is_known = self._place(key)
        return _COUNTER.unpack_from(self._memory, at)[1:] if is_known else None

    def set(self, key: bytes, time: int, count: int) -> None:
        """Store time and count of *key*."""
        at, digest, _is_known = self._place(key)
        _COUNTER.pack_into(self._memory, at, digest, time, count)

    def is_exceeded(self, key: bytes, now: int, interval: int, limit: int) -> bool:
        """Count a request; return True after more than *limit*, each within *interval* of the last."""
        at, digest, is_known = self._place(key)
        if not is_known:
            _COUNTER.pack_into(self._memory, at, digest, now, 0)
            return False
        _digest, time, count = _COUNTER.unpack_from(self._memory, at)
        is_recent: bool = now - time < interval
        is_exceeded: bool = is_recent and count >= limit
        _COUNTER.pack_into(self._memory, at, digest, now, count + 1 if is_recent else 1)
        return is_exceeded


def shared(configuration: Configuration) -> list[Segment]:
    """Return the memory of the counters."""
    sets = table_sets(configuration.main.config(EvasiveServerConfig).table_size)
    return [Segment(SEGMENT, sets * COUNTERS_PER_SET * _COUNTER.size, "evasive 1")]


# the check ----------------------------------------------------------------------------------------
def is_whitelisted(address: str, whitelist: frozenset[str]) -> bool:
    """Return True if *address*, or the pattern of its first one to three parts, is in the list."""
    parts = address.split(".")
    patterns = (".".join((*parts[:count], *("*",) * (4 - count))) for count in (1, 2, 3))
    return address in whitelist or any(pattern in whitelist for pattern in patterns)


def make_check(scope: Scope) -> CompiledHook:
    """Make the hook that counts requests."""
    conf: EvasiveServerConfig = scope.server_config(EvasiveServerConfig)
    notices = Notices(conf)

    def check(r: Request) -> HookStatus:
        connection = r.connection
        is_old = not r.plan.dialect.messages_24  # which has one address only
        address = (is_old and connection.useragent_ip) or connection.client_ip
        if r.prev is not None or r.main is not None or is_whitelisted(address, conf.whitelist):
            return OK
        if not _is_refused(r, conf, to_bytes(address)):
            return OK
        notices.blocked(r, address)
        r.log("error", f"client denied by server configuration: {r.filename}", module="evasive20")
        return conf.status

    return CompiledHook(check, Reads.UNCACHEABLE)


def _is_refused(r: Request, conf: EvasiveServerConfig, address: bytes) -> bool:
    counters = Counters(r.engine.runtime.segment(SEGMENT))
    now = int(r.engine.runtime.now())
    blocked = counters.find(address)
    if blocked is not None and now - blocked[0] < conf.blocking_period:
        counters.set(address, now, 0)
        return True
    page = counters.is_exceeded(address + b"_" + to_bytes(r.uri), now, conf.page_interval, conf.page_count)
    site = counters.is_exceeded(address + b"_SITE", now, conf.site_interval, conf.site_count)
    if page or site:
        counters.set(address, now, 0)
    return page or site


# notices ------------------------------------------------------------------------------------------
class Notices:
    """What follows when an address is blocked: a file that marks it, a line of syslog, programs.

    The file makes it happen once for each address, until somebody removes the file.
    """

    __slots__ = ("_conf", "_running")

    def __init__(self, conf: EvasiveServerConfig) -> None:
        self._conf = conf
        self._running = 0

    def blocked(self, r: Request, address: str) -> None:
        """Mark *address*, and run the programs if it had no mark; nothing where programs are forbidden."""
        if not may_start_programs() or numeric_address(address)[1] < 0:
            return
        path = f"{self._conf.log_directory}/dos-{address}"
        if os.path.exists(to_bytes(path)):
            return
        import syslog  # slow import that -t must not pay

        syslog.openlog("mod_evasive", syslog.LOG_PID, syslog.LOG_DAEMON)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(to_bytes(path), flags, 0o644)
        except OSError as problem:
            reason = os.strerror(problem.errno or 0)
            syslog.syslog(syslog.LOG_ALERT, f"Couldn't open logfile {path}: {reason}")
            return
        with os.fdopen(handle, "wb") as file:
            file.write(b"%d\n" % os.getpid())
        syslog.syslog(syslog.LOG_ALERT, f"Blacklisting address {address}: possible DoS attack.")
        if (self._conf.mail_to or self._conf.command) and self._running < MAX_NOTICES:
            import asyncio

            self._running += 1
            task = asyncio.ensure_future(asyncio.to_thread(self._run, address))
            task.add_done_callback(self._ended)

    def _ended(self, _task: object) -> None:
        self._running -= 1

    def _run(self, address: str) -> None:
        """Send the mail, then run the command; in a thread."""
        if self._conf.mail_to:
            text = (
                f"To: {self._conf.mail_to}\nSubject: HTTP BLACKLIST {address}\n\n"
                f"mod_evasive HTTP Blacklisted {address}\n"
            )
            self._start([_MAILER, self._conf.mail_to], text)
        if self._conf.command:
            self._start(["/bin/sh", "-c", self._conf.command.replace("%s", address)], "")

    def _start(self, command: list[str], text: str) -> None:
        import subprocess

        try:
            require_programs()
            subprocess.run(command, input=to_bytes(text), check=False, start_new_session=True)
        except OSError:
            return  # a program that is missing stops nothing, as in a shell


MODULE = Module(
    name="evasive20_module",
    source="mod_evasive20.c",
    server_config=EvasiveServerConfig,
    server_setters={
        "DOSHashTableSize": _number("table_size", 3097),
        "DOSPageCount": _number("page_count", 2),
        "DOSSiteCount": _number("site_count", 50),
        "DOSPageInterval": _number("page_interval", 1),
        "DOSSiteInterval": _number("site_interval", 1),
        "DOSBlockingPeriod": _number("blocking_period", 10),
        "DOSEmailNotify": _text("mail_to"),
        "DOSLogDir": _text("log_directory"),
        "DOSSystemCommand": _text("command"),
        "DOSWhitelist": add_to_whitelist,
        "DOSHTTPResponseCode": _number("status", 403),
    },
    hooks=(Hook(ACCESS_CHECKER, make_check, Order.MIDDLE),),
    shared=(shared,),
)
