"""docs/performance.md and its plots, from the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.documents import CASES
from bench.pace import SLOTS
from bench.plots import plot
from bench.report import HALF_HEADS, WORDS, half_rows, short, spread
from bench.targets import conditions

INTRODUCTION = """# Performance

Written by `make bench BENCH="--docs docs"`. The figures are those of one run on one machine; only ratios
carry over. One core runs the server, another one the load generator: {seconds} s a measurement, medians of
{rounds} rounds, all servers in turn. Requests per CPU second count the CPU time of all processes of a
server, user and system. Memory is the largest proportional set size, of all processes together and of the
worker. ± is the range between the smallest and the largest round, as a share of the median.

"""
NOTES = """
The row replay sends the requests of an access log in their order ([replay.py](../bench/replay.py)); from the
second pass on, each client has the agent of another one, so heads repeat as rarely as in the log. Before the
row is measured, every server has answered each distinct request with the same status and length. Rows of gzip
and replay have the configuration that Debian's packages install ([stock.py](../bench/stock.py)). `cache-hit`
is a response of a script in mod_cache_disk, served by the quick handler, and in `cache-hit-handler` by the
normal one; `propfind` asks with Depth 1 for four properties of 1,000 files, `propfind-all` for all.
What limits the row 10m: [large-files.md](large-files.md); what each level of answers brings:
[answers.md](answers.md).
"""
HALF = """
## Half load

Requests at a constant rate: half of the server's own full load, and half of Apache's. {how}
A time counts from the moment of sending.

"""
HOW = {
    SLOTS: """The rate has a
sequence of sending times; a connection of wrk that is free takes the next one, in whole milliseconds. h2load
sends HTTP/2: every hundredth of a second what is due on a connection; connections start some milliseconds
apart, and the first second, in which they start, does not count.""",
}


def write_page(folder: Path, results: Mapping[str, Any]) -> None:
    """Write performance.md and the plots beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = {c.name: results["cases"][c.name] for c in CASES if c.name in results["cases"]}
    half = {c.name: results["half"][c.name] for c in CASES if c.name in results.get("half", {})}
    text = INTRODUCTION.format(**results)
    text += "".join(f"* {name}: {line}\n" for name, line in results["servers"].items())
    text += f"* interpreter: {results['interpreter']}\n" if results.get("interpreter") else ""
    text += f"* replay: {results['replay']}\n" if results.get("replay") else ""
    text += "\n" + grid(
        ["condition", "wanted", "found", ""],
        [[c.name, c.wanted, c.found, WORDS[c.met]] for c in conditions(results)],
        4,
    )
    text += (
        "\n## Full load\n\n![Requests per CPU second as multiples of Apache](performance-ratios.svg)\n\n"
        + _cases(cases)
        + NOTES
    )
    (folder / "performance-ratios.svg").write_text(plot({name: _ratios(row) for name, row in cases.items()}))
    if half:
        text += HALF.format(how=HOW.get(results.get("pace", ""), ""))
        text += "![p99 in milliseconds at half of Apache's full load](performance-p99.svg)\n\n" + _half(half)
        (folder / "performance-p99.svg").write_text(
            plot({name: _late(row) for name, row in half.items()}, line=None)
        )
    text += _extras(results.get("extras", {}))
    (folder / "performance.md").write_text(text)


def grid(heads: list[str], rows: Iterable[list[str]], left: int) -> str:
    """Return a table; the columns after the first *left* hold numbers."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * left + "---:|" * (len(heads) - left)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _ratios(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: one["ratio_to_apache"].get("requests_per_cpu_second", 0.0) for name, one in row.items()}


def _late(row: Mapping[str, Any]) -> dict[str, float]:
    """Return p99 at half of Apache's full load; for Apache, at half of its own."""
    return {
        name: kinds.get("apache", kinds["own"])["figures"]["latency_p99_ms"] for name, kinds in row.items()
    }


def _cases(cases: Mapping[str, Any]) -> str:
    rows = []
    for case, servers in cases.items():
        for name, one in servers.items():
            f, ratio = one["figures"], one["ratio_to_apache"].get("requests_per_cpu_second")
            shown = f"{ratio:.2f}" if ratio is not None else ""
            per_cpu, noise = (
                f"{f['requests_per_cpu_second']:,.0f}",
                f"{spread(one, 'requests_per_cpu_second'):.0%}",
            )
            rows.append(
                [
                    case,
                    name,
                    per_cpu,
                    noise,
                    shown,
                    f"{f['requests_per_second']:,.0f}",
                    f"{f['latency_p99_ms']:.2f}",
                    f"{f['peak_memory_mb']:.1f}",
                    f"{f['worker_memory_mb']:.1f}" if "worker_memory_mb" in f else "",
                ]
            )
    return grid(
        [
            "case",
            "server",
            "requests per CPU second",
            "±",
            "of Apache",
            "requests per second",
            "p99 ms",
            "memory MB",
            "worker MB",
        ],
        rows,
        2,
    )


def _half(cases: Mapping[str, Any]) -> str:
    return grid(list(HALF_HEADS), half_rows(cases), 3)


def _extras(rows: Mapping[str, Mapping[str, float]]) -> str:
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [[title, *(short(row[n]) if n in row else "" for n in names)] for title, row in rows.items()]
    return "\n## Start, check, idle connections\n\n" + grid(["", *names], lines, 1)
