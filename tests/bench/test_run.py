"""A run of one second, and the report of an earlier run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from bench.markdown import write_page
from bench.plots import plot

from tests.bench.runs import full, half, run
from tests.meta.tree import ROOT


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "bench.run", *words]
    return subprocess.run(
        argv,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "160"},
        check=False,
    )


def test_the_page_tells_conditions_and_figures(tmp_path: Path) -> None:
    cases = {"1k": {"whimbrel": full(5000.0, 40.0), "apache": full(1000.0)}}
    write_page(
        tmp_path,
        run(
            cases, {"1k": {"whimbrel": {"own": half(4.0), "apache": half(2.0)}, "apache": {"own": half(3.0)}}}
        ),
    )
    text = (tmp_path / "performance.md").read_text()
    assert "| static file of 1 KB | at least 4 times apache | 5.00 | met |" in text
    wanted = "no worse than apache's at half of its own"
    assert f"| p99 at half of its own full load | {wanted} | 1.33 (1k) | not met |" in text
    assert "| 1k | whimbrel | 5,000 |" in text
    assert "| 1k | whimbrel | Apache's | 500 |" in text
    for name in ("performance-ratios.svg", "performance-p99.svg"):
        assert f"({name})" in text
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")


def test_bars_are_as_long_as_their_values() -> None:
    root = ElementTree.fromstring(plot({"a<b": {"whimbrel": 4.0, "apache": 1.0, "nginx": 400.0}}, most=8.0))
    widths = [float(one.attrib["width"]) for one in root.iter() if one.tag.endswith("rect")]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.3)
    assert widths[2] == pytest.approx(8 * widths[1], abs=0.5)


def test_an_earlier_run_is_reported_and_compared(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(run({"1k": {"whimbrel": full(4000.0)}})))
    new.write_text(json.dumps(run({"1k": {"whimbrel": full(5000.0), "apache": full(1000.0)}})))
    done = bench("--from", str(new), "--compare", str(old), "--docs", str(tmp_path / "docs"), "--no-color")
    assert (done.returncode, done.stderr) == (0, "")
    assert "better" in done.stdout
    assert "+25%" in done.stdout
    assert "\x1b" not in done.stdout
    assert (tmp_path / "docs" / "performance.md").is_file()
    assert "\x1b[" in bench("--from", str(new), "--color").stdout


@pytest.mark.skipif(
    not shutil.which("wrk") or not shutil.which("h2load"), reason="wrk or h2load is not on this machine"
)
def test_a_short_run_measures(tmp_path: Path) -> None:
    done = bench(
        "--seconds",
        "1",
        "--rounds",
        "1",
        "--cases",
        "1k,404-fresh,cgi-post",
        "--servers",
        "whimbrel",
        "--no-extras",
        "--json",
        str(tmp_path / "out.json"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert set(results["cases"]) == {"1k", "404-fresh", "cgi-post"}
    assert results["cases"]["1k"]["whimbrel"]["figures"]["requests_per_second"] > 100
    paced = results["half"]["1k"]["whimbrel"]["own"]["figures"]
    assert 0 < paced["latency_p50_ms"] <= paced["latency_p99_ms"] <= paced["latency_worst_ms"]
    assert "not measured" in done.stdout
    assert {one["met"] for one in results["conditions"]} <= {True, False, None}
