"""Soak: hours of mixed load on a server; memory, objects, descriptors, scoreboard and log lines add up."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.hostile.measure import Budget, Measure, Result
from tests.soak.backend import ROOT
from tests.soak.load import RATE, Load, missing
from tests.soak.probe import Census, census
from tests.soak.processes import descriptors, left_after, resident, segments_of
from tests.soak.site import LoadedServer, loaded_servers

BUILD = ROOT / "build" / "soak"
SETTLING = 1800.0  # seconds before the first reading, at most a third of the time: caches fill
# Requests a second until then. A cache takes what came twice: at RATE the caches would fill for another hour.
SETTLING_RATE = 3 * RATE
SAMPLES = 60  # readings of the memory in each part
MAX_PER_HOUR = 1.0  # MB that a worker may grow in an hour
MAX_GROWTH = 5.0  # MB in less than an hour
NOTED_SHARE = 3.0  # MB of a process for each MB that a filling cache notes: the allocator leaves gaps
MAX_DESCRIPTORS = 40  # more between two idle moments: files that stay open and idle connections of back ends
PROXY_ERROR = re.compile(r"\[proxy[a-z_0-9]*:error\].* (AH\d+)")  # why there was a 502 or 503
LEAK_SHARE = 0.02  # objects more for each request, from which on a type leaks: one kind of request in fifty
LEAK_FLOOR = 1500  # fewer objects more of one type are entries of small caches
ENTRY_OBJECTS = 8  # of one type, in an entry of a cache


@dataclass
class Moment:
    """What an idle worker has: objects, descriptors, and the number of requests until then."""

    objects: Census
    descriptors: int
    requests: int


def moment(server: LoadedServer, load: Load, workers: list[int]) -> dict[int, Moment]:
    """Pause the load and return what each worker has once it is idle."""
    load.pause()
    end = time.monotonic() + 30
    found = {pid: census(pid) for pid in workers}
    while any(one.connections for one in found.values()) and time.monotonic() < end:
        time.sleep(0.5)
        found = {pid: census(pid) for pid in workers}
    return {pid: Moment(found[pid], descriptors(pid), len(load.ledger)) for pid in workers}


def grown(before: Census, after: Census) -> Counter[str]:
    """Return how many objects of each type there are more."""
    return Counter(after.types) - Counter(before.types)


def cache_growth(before: Census, after: Census) -> tuple[int, float]:
    """Return how many entries the bounded caches have more, and how many MB they note more."""
    entries = sum(sizes[0] for sizes in after.caches.values()) - sum(
        sizes[0] for sizes in before.caches.values()
    )
    noted = sum(sizes[2] for sizes in after.caches.values()) - sum(
        sizes[2] for sizes in before.caches.values()
    )
    return max(0, entries), max(0.0, noted / 1e6)


def leaks(first: Moment, last: Moment) -> list[str]:
    """Return a line for each type with more new objects than caches explain, with the number of them."""
    entries, _noted = cache_growth(first.objects, last.objects)
    most = max(LEAK_FLOOR, LEAK_SHARE * (last.requests - first.requests)) + ENTRY_OBJECTS * entries
    return [
        f"{count} more of {name}"
        for name, count in grown(first.objects, last.objects).most_common()
        if count > most
    ]


def _sampled(workers: list[int], seconds: float) -> dict[int, list[float]]:
    """Return readings of the memory of each worker, in MB, evenly over *seconds*."""
    samples: dict[int, list[float]] = {pid: [] for pid in workers}
    for _ in range(SAMPLES):
        for pid in workers:
            samples[pid].append(resident(pid))
        time.sleep(seconds / SAMPLES)
    return samples


def _status(server: LoadedServer) -> dict[str, str]:
    text = server.get("/server-status?auto&n=0").decode("latin-1")
    return dict(re.findall(r"(?m)^([A-Za-z]+(?: [A-Za-z]+)*): (.*?)\r?$", text))


def check_scoreboard(server: LoadedServer, lines: int, workers: int) -> list[str]:
    """Return where the scoreboard disagrees with an idle server that has logged *lines* requests."""
    time.sleep(2)  # a worker writes its slot once a second
    status = _status(server)
    problems = []
    if int(status.get("BusyWorkers", "0")) > 1:
        problems.append(f"scoreboard: {status.get('BusyWorkers')} busy workers on an idle server")
    if int(status.get("Total Accesses", "-1")) != lines:
        problems.append(f"scoreboard: {status.get('Total Accesses')} accesses, {lines} lines in the log")
    if int(status.get("Processes", "-1")) != workers:
        problems.append(f"scoreboard: {status.get('Processes')} processes in place of {workers}")
    return problems


def judge_load(load: Load, lines: list[str], output: str, stores: Path) -> list[str]:
    """Return what is wrong with responses, the access log and the error log of a load."""
    problems = load.problems + load.ledger.failures
    if load.ledger.wrong > len(load.ledger.failures):
        problems.append(f"{load.ledger.wrong} wrong or lost responses")
    if load.ledger.wrong:
        reasons = {found[1]: line for line in output.splitlines() if (found := PROXY_ERROR.search(line))}
        problems += list(reasons.values())
    _total, differences = load.ledger.reconcile(line for line in lines if "?auto&n=0 " not in line)
    problems += differences[:20]
    if len(differences) > 20:
        problems.append(f"{len(differences)} disagreements of clients and access log")
    counter = (stores / "files/counter").read_bytes()
    if int(counter) != load.counts["counted"]:
        problems.append(f"the counter is {counter!r} after {load.counts['counted']} steps under its lock")
    if "Traceback" in output:
        problems.append("a traceback: " + output.partition("Traceback")[2][:2000])
    return problems


def keep_log(result: Result, name: str, output: str) -> None:
    """Keep the error log of a run that has failed."""
    if result.failures:
        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / f"{name}.log").write_text(output, "latin-1")


def soak(seconds: float, seed: int) -> Result:
    """Send mixed requests for *seconds*."""
    if missing():
        return Result(skipped=missing())
    result = Result()
    settling = min(SETTLING, seconds / 3)
    with TemporaryDirectory(prefix="whimbrel-soak-") as stores, loaded_servers(Path(stores)) as (server,):
        workers = server.workers()
        begin = time.monotonic()
        with Load([server.ports], seed, SETTLING_RATE) as load:
            time.sleep(settling)
            first = moment(server, load, workers)
            load.set_rate(RATE)
            load.resume()
            samples = _sampled(workers, seconds - settling)
            spent = time.monotonic() - begin
            last = moment(server, load, workers)
        ledger = load.ledger
        lines = server.access
        result.failures += check_scoreboard(server, len(lines), len(workers))
        result.failures += judge_load(load, lines, server.output, server.stores)
        keep_log(result, "soak", server.output)
        if server.workers() != workers:
            result.failures.append("a worker has been replaced")
        result.figures.update(
            {
                "minutes": round(spent / 60, 1),
                "requests": len(ledger),
                "requests an hour": round(len(ledger) * 3600 / spent),
                "kinds": len(ledger.kinds),
                "given up": ledger.given_up,
                "given back": ledger.unprocessed,
                "wrong or lost": ledger.wrong,
                "lines of the log": len(lines),
                **load.counts,
            }
        )
        for number, pid in enumerate(workers, 1):
            _judge_worker(result, number, samples[pid], (seconds - settling) / 3600, (first[pid], last[pid]))
        master = server.process.pid
        result.figures["master MB"] = round(resident(master), 1)
        result.figures["master descriptors"] = descriptors(master)
        segments = segments_of(master)
        server.process.terminate()
        server.process.wait(30)
        result.failures += left_after(master, server.root, segments)
    return result


def _judge_worker(
    result: Result, number: int, samples: list[float], hours: float, moments: tuple[Moment, Moment]
) -> None:
    first, last = moments
    few = max(1, SAMPLES // 10)
    growth = median(samples[-few:]) - median(samples[:few])
    noted = cache_growth(first.objects, last.objects)[1]
    allowed = MAX_PER_HOUR * hours if hours >= 1 else MAX_GROWTH + NOTED_SHARE * noted
    more = grown(first.objects, last.objects)
    name = f"worker {number}"
    result.figures[f"{name} MB"] = round(samples[-1], 1)
    result.figures[f"{name} MB more"] = round(growth, 2)
    result.figures[f"{name} MB an hour"] = round(growth / hours, 2)
    result.figures[f"{name} MB noted by caches more"] = round(noted, 2)
    result.figures[f"{name} descriptors"] = last.descriptors
    result.figures[f"{name} descriptors more"] = last.descriptors - first.descriptors
    result.figures[f"{name} objects"] = sum(last.objects.types.values())
    result.figures[f"{name} objects more"] = sum(more.values())
    result.figures[f"{name} blocks more"] = last.objects.blocks - first.objects.blocks
    heap_used = (last.objects.heap_used - first.objects.heap_used) / 1e6
    heap_free = (last.objects.heap_free - first.objects.heap_free) / 1e6
    result.figures[f"{name} MB of the heap more"] = f"{heap_used:.1f} used, {heap_free:.1f} free"
    for kind, sizes in last.objects.caches.items():
        weight = f", {sizes[2] / 1e6:.1f} of {sizes[3] / 1e6:.1f} MB" if sizes[3] else ""
        result.figures[f"{name} {kind}"] = f"{sizes[0]} of {sizes[1]}{weight}"
    if growth > allowed:
        result.failures.append(f"{name}: {growth:.2f} MB more, {allowed:.2f} allowed")
    if last.descriptors - first.descriptors > MAX_DESCRIPTORS:
        result.failures.append(f"{name}: {last.descriptors - first.descriptors} more descriptors")
    result.failures += [f"{name}: {line}" for line in leaks(first, last)]
    result.failures += [f"{name}: {line}" for line in last.objects.overdrawn]
    if last.objects.connections:
        result.failures.append(f"{name}: {last.objects.connections} connections on an idle server")


def run(budget: Budget) -> Result:
    """Soak for the time of the budget."""
    return soak(budget.seconds, budget.seed)


MEASURES = (
    Measure(
        "soak",
        "In hours of mixed requests each worker grows by less than 1 MB an hour after the first half hour, "
        "no type of object piles up, and each request has exactly one line in the access log.",
        run,
        1,
        3600,
    ),
)
