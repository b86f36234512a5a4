"""State of workers in shared memory: status bits, errors, elections, traffic (httpd's proxy_worker_shared).

`worker_states(engine)[worker]` is the state of a `ProxyWorker`. Counters that every request changes stand
apart, once for each process, so that no increment is lost; their sums are what httpd counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from mmap import mmap
from struct import Struct
from typing import Final, Protocol

from whimbrel.base.numbers import atoi
from whimbrel.config.configuration import Configuration
from whimbrel.engine.request import RequestEngine
from whimbrel.modules.proxy.mod_proxy.model import (
    HEALTH_METHODS,
    LOAD_UNIT,
    ProxyBalancer,
    ProxyWorker,
    WorkerStatus,
)
from whimbrel.modules.proxy.mod_proxy.scheme import BALANCERS
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.support.shared_record import NumberField, RealField, SharedRecord, TextField
from whimbrel.registry.module import Segment

NAME: Final = "proxy workers"
MAX_PROCESSES: Final = 128  # that run at the same time, each with its own counters
MAX_NAME: Final = 384  # bytes with the NUL byte, as of the following
MAX_ROUTE: Final = 64
MAX_EXPRESSION: Final = 16
DEFAULT_INTERVAL: Final = "30000"  # milliseconds
HEAD_SIZE: Final = 16
_HEAD: Final = Struct("q")  # number of processes that have used counters; then the number of workers
_COUNTERS: Final = Struct("4q")  # busy, elected, transferred, read
_TRAFFIC: Final = Struct("2q")  # the last two of them
_TRAFFIC_AT: Final = _COUNTERS.size - _TRAFFIC.size
_STATUS: Final = Struct("q")  # the first field of a record
_USABLE: Final[int] = WorkerStatus.UNUSABLE | WorkerStatus.INITIALIZED
_INITIALIZED: Final[int] = WorkerStatus.INITIALIZED
_IN_ERROR: Final[int] = WorkerStatus.IN_ERROR
_IGNORES: Final[int] = WorkerStatus.IGNORE_ERRORS
_STOPPED: Final[int] = WorkerStatus.STOPPED
WORDS: Final = (
    (WorkerStatus.INITIALIZED, "Init "),
    (WorkerStatus.IGNORE_ERRORS, "Ign "),
    (WorkerStatus.DRAIN, "Drn "),
    (WorkerStatus.GENERIC, "Gen "),
    (WorkerStatus.IN_SHUTDOWN, "Shut "),
    (WorkerStatus.DISABLED, "Dis "),
    (WorkerStatus.STOPPED, "Stop "),
    (WorkerStatus.IN_ERROR, "Err "),
    (WorkerStatus.HOT_STANDBY, "Stby "),
    (WorkerStatus.HOT_SPARE, "Spar "),
    (WorkerStatus.FREE, "Free "),
    (WorkerStatus.HC_FAIL, "HcFl "),
)


class WorkerRecord(SharedRecord):
    """The fields of a worker that any process changes; times are seconds.

    Attributes:
        name: the URL with the Unix socket, of members that the manager added.
        retry: seconds that a failed worker is left alone. `retries`: how often it was tried again.
        lbfactor: hundredths in 2.4, a whole number in 2.2. `lbstatus`: in the same unit.
        method, interval, passes, fails, uri, expression: parameters of mod_proxy_hcheck.
        sent_before, read_before: bytes that were counted before the last reset.
        passed, failed: checks in a row. `updated`: time of the last check or change.
    """

    __slots__ = ()
    status = NumberField()
    lbstatus = NumberField()
    lbfactor = NumberField()
    lbset = NumberField()
    retries = NumberField()
    error_time = RealField()
    retry = RealField()
    method = NumberField()
    interval = RealField()
    passes = NumberField()
    fails = NumberField()
    passed = NumberField()
    failed = NumberField()
    updated = RealField()
    sent_before = NumberField()
    read_before = NumberField()
    route = TextField(MAX_ROUTE)
    redirect = TextField(MAX_ROUTE)
    uri = TextField(MAX_ROUTE)
    expression = TextField(MAX_EXPRESSION)
    name = TextField(MAX_NAME)

    @staticmethod
    def at(memory: mmap, index: int) -> WorkerRecord:
        """Return the record of the worker at *index*."""
        return WorkerRecord(memory, HEAD_SIZE + index * WorkerRecord.SIZE)

    @property
    def is_usable(self) -> bool:
        """Return True if requests may be sent there (PROXY_WORKER_IS_USABLE)."""
        # `status`, without its descriptor: each relayed request reads it
        status: int = _STATUS.unpack_from(self.memory, self.base)[0]
        return status & _USABLE == _INITIALIZED

    def has(self, bits: WorkerStatus) -> bool:
        """Return True if one of the status *bits* is set."""
        return self.status & bits != 0

    def set_status(self, bits: WorkerStatus, is_on: bool) -> None:
        """Set or clear status *bits* (ap_proxy_set_wstatus)."""
        self.status = self.status | bits if is_on else self.status & ~bits

    @property
    def words(self) -> str:
        """Return the status as pages show it (ap_proxy_parse_wstatus)."""
        status = self.status
        return "".join(word for bit, word in WORDS if status & bit) + "Ok " * self.is_usable

    def set_error(self, now: float) -> bool:
        """Mark the worker as failed, unless it ignores errors; return True if it is marked."""
        if self.status & _IGNORES:
            return False
        self.error_time = now
        self.status |= _IN_ERROR
        return True

    def retry_worker(self, now: float) -> bool:
        """Clear the error of a worker that has been left alone for long enough; return True if it has none
        (ap_proxy_retry_worker).
        """
        status = self.status
        if not status & _IN_ERROR:
            return True
        if status & _STOPPED or (not status & _IGNORES and now <= self.error_time + self.retry):
            return False
        self.retries += 1
        self.status = status & ~_IN_ERROR
        return True

    def set_parameters(self, worker: ProxyWorker, unit: int) -> None:
        """Write the first state of *worker*; *unit*: hundredths that a load factor of 1 counts here."""
        parameters = worker.parameters
        self.status = parameters.status | WorkerStatus.INITIALIZED
        self.lbfactor = parameters.loadfactor * unit // LOAD_UNIT
        self.lbstatus = self.lbfactor if unit == 1 else 0
        self.lbset = parameters.lbset
        self.retry = parameters.retry
        self.route = parameters.route
        self.redirect = parameters.redirect
        health = parameters.health
        self.interval = atoi(health.get("hcinterval", DEFAULT_INTERVAL)) / 1000
        self.passes = atoi(health.get("hcpasses", "1"))
        self.fails = atoi(health.get("hcfails", "1"))
        self.method = HEALTH_METHODS.index(health.get("hcmethod", "NONE"))
        self.uri = health.get("hcuri", "")
        self.expression = health.get("hcexpr", "")
        self.name = worker.printed


class ProxyWorkerState(WorkerRecord):
    """The state of one worker, as one process sees it.

    Attributes:
        busy: requests that this process has there; `is_busy` and `totals` add all processes up.
    """

    __slots__ = ("_counters", "_offset", "_states", "busy", "elected", "read", "transferred")

    def __init__(self, states: WorkerStates, index: int) -> None:
        super().__init__(states.memory, HEAD_SIZE + index * WorkerRecord.SIZE)
        self._states = states
        self._offset = states.counters(states.process) + index * _COUNTERS.size
        self.busy, self.elected, self.transferred, self.read = _COUNTERS.unpack_from(
            states.memory, self._offset
        )

    def elect(self) -> None:
        """Count an election."""
        self.elected += 1
        self._write()

    def begin(self) -> None:
        """Count a request that is being sent."""
        self.busy += 1
        self._write()

    def end(self) -> None:
        """Count the end of such a request."""
        if self.busy:
            self.busy -= 1
            self._write()

    def count(self, transferred: int, read: int) -> None:
        """Count bytes sent to the back end and read from it."""
        self.transferred += transferred
        self.read += read
        _TRAFFIC.pack_into(self.memory, self._offset + _TRAFFIC_AT, self.transferred, self.read)

    def _write(self) -> None:
        _COUNTERS.pack_into(self.memory, self._offset, self.busy, self.elected, self.transferred, self.read)

    def totals(self) -> tuple[int, int, int, int]:
        """Return busy, elected, transferred and read of all processes."""
        states = self._states
        memory = self.memory
        at = self._offset - states.process * states.row
        step = states.row
        busy = 0
        elected = 0
        transferred = 0
        read = 0
        for _ in range(_HEAD.unpack_from(memory, 0)[0]):
            one = _COUNTERS.unpack_from(memory, at)
            busy, elected = busy + one[0], elected + one[1]
            transferred, read = transferred + one[2], read + one[3]
            at += step
        return busy, elected, transferred - self.sent_before, read - self.read_before

    def reset_traffic(self) -> None:
        """Count the bytes from now on."""
        _, _, transferred, read = self.totals()
        self.sent_before += transferred
        self.read_before += read


class WorkerStates:
    """The states of all workers in one process.

    Attributes:
        count: number of workers. `row`: bytes of the counters of one process.
        process: number of the process among those that have counters.
    """

    def __init__(self, memory: mmap, process: int) -> None:
        self.memory = memory
        self.process = process % MAX_PROCESSES
        self.count: int = _HEAD.unpack_from(memory, _HEAD.size)[0]
        self.row: int = self.count * _COUNTERS.size
        self._first: int = HEAD_SIZE + self.count * WorkerRecord.SIZE
        self._known: dict[int, ProxyWorkerState] = {}
        self._begin()

    def __getitem__(self, worker: ProxyWorker) -> ProxyWorkerState:
        state = self._known.get(worker.index)
        if state is None:
            state = ProxyWorkerState(self, worker.index)
            self._known[worker.index] = state
        return state

    def counters(self, process: int) -> int:
        """Return where the counters of *process* begin."""
        return self._first + process * self.row

    def _begin(self) -> None:
        """Take over the counters of a process that has ended: it has no request any more."""
        if _HEAD.unpack_from(self.memory, 0)[0] <= self.process:
            _HEAD.pack_into(self.memory, 0, self.process + 1)
        at = self.counters(self.process)
        for offset in range(at, at + self.row, _COUNTERS.size):
            _HEAD.pack_into(self.memory, offset, 0)


# Places -----------------------------------------------------------------------------------------
def server_configs(configuration: Configuration) -> list[ProxyServerConfig]:
    """Return the records of all servers, each once."""
    records: dict[int, ProxyServerConfig] = {}
    for server in configuration.servers():
        record = server.config(ProxyServerConfig)
        records[id(record)] = record
    return list(records.values())


def all_balancers(configuration: Configuration) -> list[ProxyBalancer]:
    """Return the balancers of all servers, each once."""
    found = [balancer for conf in server_configs(configuration) for balancer in conf.balancers]
    return list({id(balancer): balancer for balancer in found}.values())


def all_workers(configuration: Configuration) -> Iterator[ProxyWorker]:
    """Yield the configured workers of all servers, some more than once."""
    for conf in server_configs(configuration):
        yield from (conf.forward, conf.reverse)
        yield from conf.workers
        for balancer in conf.balancers:
            yield from balancer.members


def place(configuration: Configuration) -> int:
    """Give each worker and balancer its index; return the number of workers, places for growth included."""
    count = 0
    for worker in all_workers(configuration):
        worker.index = -1
    for worker in all_workers(configuration):
        if worker.index < 0:
            worker.index, count = count, count + 1
    for number, balancer in enumerate(all_balancers(configuration)):
        balancer.index = number
        balancer.first_added = count
        count += balancer.parameters.growth or 0
    return count


def load_unit(configuration: Configuration) -> int:
    """Return what a load factor of 1 counts: 2.2 has whole numbers."""
    return LOAD_UNIT if configuration.dialect.messages_24 else 1


class ExtraMemory(Protocol):
    """Memory behind that of the workers: the provider "memory" of `BALANCERS`."""

    def size(self, configuration: Configuration) -> int:
        """Return its size in bytes."""

    def fill(self, configuration: Configuration, memory: mmap, base: int) -> None:
        """Write the first contents at *base*; workers have theirs."""

    def save(self, configuration: Configuration, memory: mmap, base: int) -> None:
        """Save what the next start shall have."""


def extra_base(count: int) -> int:
    """Return where `ExtraMemory` begins after *count* workers."""
    return HEAD_SIZE + count * (WorkerRecord.SIZE + MAX_PROCESSES * _COUNTERS.size)


def segments(configuration: Configuration) -> Iterable[Segment]:
    """Yield the memory of all workers; a restart begins anew, as httpd's does without BalancerPersist."""
    count = place(configuration)
    workers = list({worker.index: worker for worker in all_workers(configuration)}.values())
    extra: ExtraMemory | None = configuration.provider(BALANCERS, "memory")
    base = extra_base(count)

    def fill(memory: mmap) -> None:
        _HEAD.pack_into(memory, _HEAD.size, count)
        unit = load_unit(configuration)
        for worker in workers:
            WorkerRecord.at(memory, worker.index).set_parameters(worker, unit)
        if extra is not None:
            extra.fill(configuration, memory, base)

    def save(memory: mmap) -> None:
        if extra is not None:
            extra.save(configuration, memory, base)

    size = base + (0 if extra is None else extra.size(configuration))
    yield Segment(NAME, size, os.urandom(8).hex(), fill=fill, save=save)


def worker_states(engine: RequestEngine) -> WorkerStates:
    """Return the states of the workers of *engine*, which has called `segments`."""
    states: WorkerStates | None = engine.worker_state.get(NAME)
    if states is None:
        memory = engine.runtime.segment(NAME)
        states = WorkerStates(memory, engine.runtime.slot)
        engine.worker_state[NAME] = states
    return states
