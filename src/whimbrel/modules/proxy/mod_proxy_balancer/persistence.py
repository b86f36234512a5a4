"""BalancerPersist: the state of balancers in a file, written by the master when it drops the memory.

httpd writes its slots as they are in memory; this file is JSON, since layouts of programs differ.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from mmap import mmap
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.file_reading import read_start
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import WorkerRecord
from whimbrel.modules.support.shared_record import SharedRecord

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.modules.proxy.mod_proxy.model import ProxyBalancer
    from whimbrel.modules.proxy.mod_proxy_balancer.balancer import BalancerRecord

FILE: Final = "balancers.persist"
VERSION: Final = 1
MAX_NUMBER: Final = 2**62
MAX_SIZE: Final = 16 * 1024 * 1024  # bytes of the file; a longer one is not read
_TRANSIENT: Final = frozenset({"updated", "sent_before", "read_before"})


def path_of(configuration: Configuration) -> str:
    """Return the path of the file, in DefaultRuntimeDir."""
    directory = configuration.main.config(MpmConfig).run_directory
    return os.path.join(directory or f"{configuration.root}/logs", FILE)


def persistent(configuration: Configuration) -> list[ProxyBalancer]:
    """Return the balancers of the servers with BalancerPersist."""
    found: dict[int, ProxyBalancer] = {}
    for server in configuration.servers():
        conf = server.config(ProxyServerConfig)
        if conf.balancer_persist:
            found.update((id(balancer), balancer) for balancer in conf.balancers)
    return list(found.values())


def load(configuration: Configuration) -> dict[str, Any]:
    """Return the saved balancers by name; {} without a file of this form."""
    try:
        data = read_start(path_of(configuration), MAX_SIZE + 1)
        saved = json.loads(data) if len(data) <= MAX_SIZE else {}
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(saved, dict) or saved.get("version") != VERSION:
        return {}
    balancers = saved.get("balancers")
    return balancers if isinstance(balancers, dict) else {}


def write(configuration: Configuration, balancers: dict[str, Any]) -> None:
    """Replace the file; where that fails, the former one stays."""
    path = path_of(configuration)
    temporary = f"{path}.{os.getpid()}"
    data = json.dumps({"version": VERSION, "balancers": balancers}, indent=1).encode()
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass


def restore(record: SharedRecord, values: object) -> None:
    """Write the saved *values* of the right types into *record*."""
    if not isinstance(values, dict):
        return
    for name in record.FIELDS:
        now = getattr(record, name)
        value = values.get(name)
        if name in _TRANSIENT or isinstance(value, bool):
            continue
        if isinstance(now, float) and isinstance(value, (int, float)):
            value = 0.0 + max(-MAX_NUMBER, min(MAX_NUMBER, value))
        if type(now) is type(value) and not (isinstance(value, int) and abs(value) > MAX_NUMBER):
            setattr(record, name, value if not isinstance(value, str) else _latin1(value))


def _latin1(text: str) -> str:
    return text.encode("latin-1", "replace").decode("latin-1")


def worker_records(memory: mmap, balancer: ProxyBalancer, added: int) -> Iterable[WorkerRecord]:
    """Yield the records of the members, then of those that were added."""
    first = balancer.first_added
    indexes = [worker.index for worker in balancer.members] + list(range(first, first + added))
    for index in indexes:
        yield WorkerRecord.at(memory, index)


def saved_state(record: BalancerRecord, memory: mmap, balancer: ProxyBalancer) -> dict[str, Any]:
    """Return the state of *balancer* as the file has it."""
    workers = worker_records(memory, balancer, record.added)
    return {"balancer": record.values(), "workers": [worker.values() for worker in workers]}


def restore_state(record: BalancerRecord, memory: mmap, balancer: ProxyBalancer, saved: object) -> None:
    """Take over the *saved* state of members that are still there, and of members that were added."""
    if not isinstance(saved, dict):
        return
    restore(record, saved.get("balancer"))
    growth = balancer.parameters.growth or 0
    workers = saved.get("workers")
    entries = [entry for entry in workers if isinstance(entry, dict)] if isinstance(workers, list) else []
    by_name = {entry.get("name"): entry for entry in entries}
    configured = {worker.printed for worker in balancer.members}
    for worker in balancer.members:
        restore(WorkerRecord.at(memory, worker.index), by_name.get(worker.printed))
    new = [entry for entry in entries if entry.get("name") not in configured][:growth]
    for index, entry in enumerate(new, balancer.first_added):
        restore(WorkerRecord.at(memory, index), entry)
    record.added = len(new)
