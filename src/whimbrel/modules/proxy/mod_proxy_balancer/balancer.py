"""Balancers at run time: shared parameters, members and their states (httpd's proxy_balancer_shared)."""

from __future__ import annotations

import os
from collections.abc import Callable
from mmap import mmap
from typing import Any, Final, NamedTuple, Protocol

from whimbrel.base.errors import ConfigError
from whimbrel.config.configuration import Configuration
from whimbrel.engine.request import Request, RequestEngine
from whimbrel.modules.proxy.mod_proxy.model import (
    BALANCER_PREFIX,
    ProxyBalancer,
    ProxyWorker,
    WorkerStatus,
    define_worker,
)
from whimbrel.modules.proxy.mod_proxy.worker_state import (
    ProxyWorkerState,
    WorkerStates,
    all_balancers,
    extra_base,
    load_unit,
    worker_states,
)
from whimbrel.modules.proxy.mod_proxy_balancer import persistence
from whimbrel.modules.support.shared_record import NumberField, RealField, SharedRecord, TextField

NAME: Final = "proxy balancers"
METHODS: Final = "lbmethod"  # group of providers
MAX_STICKY: Final = 64  # bytes with the NUL byte, as of the following
MAX_NONCE: Final = 64
MAX_METHOD: Final = 18


class BalancerMember(NamedTuple):
    """One member of a balancer."""

    worker: ProxyWorker
    state: ProxyWorkerState


class LbMethod(Protocol):
    """A method of choosing members, which a module registers as `Provider("lbmethod", NAME, ...)`."""

    def find(self, balancer: Balancer, r: Request) -> BalancerMember | None:
        """Return the member for *r*, None if no member is usable."""

    def reset(self, balancer: Balancer) -> None:
        """Begin anew: a member has become usable again, or the method is new."""


class BalancerRecord(SharedRecord):
    """The parameters of a balancer that the manager changes.

    Attributes:
        timeout: seconds. `forced`: 1 if sessions stay with their route (nofailover).
        added: number of members that the manager has added. `needs_reset`: 1 until the method is reset.
    """

    __slots__ = ()
    timeout = RealField()
    max_attempts = NumberField()
    forced = NumberField()
    added = NumberField()
    needs_reset = NumberField()
    sticky = TextField(MAX_STICKY)
    sticky_path = TextField(MAX_STICKY)
    method = TextField(MAX_METHOD)
    nonce = TextField(MAX_NONCE)

    def set_parameters(self, balancer: ProxyBalancer) -> None:
        """Write the first state of *balancer*."""
        parameters = balancer.parameters
        self.timeout = parameters.timeout
        self.forced = 1 if parameters.nofailover else 0
        self.max_attempts = max_attempts(balancer)
        self.sticky = parameters.sticky
        self.sticky_path = parameters.sticky_path
        self.method = parameters.lbmethod
        nonce = parameters.nonce
        self.nonce = random_nonce() if nonce is None else nonce


def max_attempts(balancer: ProxyBalancer) -> int:
    """Return the configured number of further attempts: by default one for each other member."""
    given = balancer.parameters.maxattempts
    return max(0, len(balancer.members) - 1) if given is None else given


def random_nonce() -> str:
    """Return a nonce in the form of a UUID."""
    text = os.urandom(16).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class Balancer(BalancerRecord):
    """One balancer as one process sees it.

    Attributes:
        conf: the balancer as configured. `name`: with its scheme. `members`: with those that were added.
        states: those of all workers. `unit`: what a load factor of 1 counts.
        is_old: True for the rules of 2.2.
    """

    __slots__ = ("_provider", "conf", "is_old", "members", "name", "states", "unit")

    def __init__(self, conf: ProxyBalancer, states: WorkerStates, engine: RequestEngine) -> None:
        super().__init__(states.memory, extra_base(states.count) + conf.index * BalancerRecord.SIZE)
        configuration = engine.configuration
        self.conf = conf
        self.name = conf.name
        self.states = states
        self.members = [BalancerMember(worker, states[worker]) for worker in conf.members]
        self.unit = load_unit(configuration)
        self.is_old = not configuration.dialect.messages_24
        self._provider: Callable[[str, str], Any] = configuration.provider

    @property
    def lbmethod(self) -> LbMethod:
        """Return the method that is set now."""
        found: LbMethod = self._provider(METHODS, self.method)
        return found

    def has_method(self, name: str) -> bool:
        """Return True if a loaded module has the method *name*."""
        return self._provider(METHODS, name) is not None

    @property
    def room(self) -> int:
        """Return the number of members that may still be added."""
        return (self.conf.parameters.growth or 0) - self.added

    @property
    def short_name(self) -> str:
        """Return the name without its scheme."""
        return self.name[len(BALANCER_PREFIX) :]

    def synchronize(self) -> None:
        """Take over what another process changed (ap_proxy_sync_balancer)."""
        conf = self.conf
        added = self.added
        while len(self.members) < len(conf.members) + added:
            self._adopt(len(self.members) - len(conf.members))
        if self.needs_reset:
            self.lbmethod.reset(self)
            self.needs_reset = 0

    def _adopt(self, number: int) -> None:
        """Add the member with *number* among those that the manager has added."""
        index = self.conf.first_added + number
        placeholder = ProxyWorker("", "", "", 0, index=index)
        printed = self.states[placeholder].name
        socket, _, url = printed.rpartition("|")
        worker = define_worker(url, socket[5:])
        worker.index = index
        worker.balancer = self.conf
        worker.section = self.conf.section
        self.members.append(BalancerMember(worker, self.states[worker]))

    def add(self, url: str, socket_path: str) -> BalancerMember:
        """Add a member, disabled; raises ConfigError if *url* is none."""
        if not self.room:
            raise ConfigError("no room")
        worker = define_worker(url, socket_path)
        worker.index = self.conf.first_added + self.added
        state = self.states[worker]
        if len(worker.printed) >= ProxyWorkerState.name.limit:
            raise ConfigError("name too long")
        state.set_parameters(worker, self.unit)
        state.set_status(WorkerStatus.DISABLED, True)
        self.added += 1
        self.synchronize()
        return self.members[-1]

    def reset_factors(self) -> None:
        """Begin the rotation at the load factors (recalc_factors)."""
        if len(self.members) == 1:
            state = self.members[0].state
            state.lbstatus = self.unit
            state.lbfactor = state.lbstatus
            return
        for member in self.members:
            member.state.lbstatus = member.state.lbfactor


# Places -----------------------------------------------------------------------------------------
class BalancerMemory:
    """The memory of balancers, behind that of workers (`worker_state.ExtraMemory`)."""

    def size(self, configuration: Configuration) -> int:
        """Return the bytes of one record for each balancer."""
        return len(all_balancers(configuration)) * BalancerRecord.SIZE

    def fill(self, configuration: Configuration, memory: mmap, base: int) -> None:
        """Write the configured parameters, or those that BalancerPersist has saved."""
        for balancer in all_balancers(configuration):
            BalancerRecord(memory, base + balancer.index * BalancerRecord.SIZE).set_parameters(balancer)
        persistent = persistence.persistent(configuration)
        saved = persistence.load(configuration) if persistent else {}
        for balancer in persistent:
            record = BalancerRecord(memory, base + balancer.index * BalancerRecord.SIZE)
            persistence.restore_state(record, memory, balancer, saved.get(balancer.name))

    def save(self, configuration: Configuration, memory: mmap, base: int) -> None:
        """Write the file of BalancerPersist."""
        persistent = persistence.persistent(configuration)
        if persistent:
            persistence.write(
                configuration,
                {
                    balancer.name: persistence.saved_state(
                        BalancerRecord(memory, base + balancer.index * BalancerRecord.SIZE), memory, balancer
                    )
                    for balancer in persistent
                },
            )


def balancer_of(engine: RequestEngine, conf: ProxyBalancer) -> Balancer:
    """Return the run-time state of *conf*."""
    known: dict[int, Balancer] = engine.worker_state.setdefault(NAME, {})
    found = known.get(conf.index)
    if found is None:
        found = Balancer(conf, worker_states(engine), engine)
        known[conf.index] = found
    return found
