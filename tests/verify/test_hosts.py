"""Many virtual hosts: one changed network is found, plans of hosts that are done are dropped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.performance.many_hosts import server
from tests.support.samples import amount
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.side import Side
from whimbrel.verify.unsafe_urls import REASON
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import Comparison, verify

HOSTS = amount(200, 600)
CHANGED = HOSTS * 7 // 10
FLUSHED = amount(80, 250)
REDIRECTING = amount(40, 110)
MANY = amount(35, 100)
BOUND = 30.0
"""Seconds of one process on a busy machine; it took 9."""


def configuration(root: Path, name: str, changed: int = -1) -> Side:
    """HOSTS hosts, each with a directory that is open to one network."""
    modules = ("mpm_event", "authz_core", "authz_host", "alias", "dir")
    lines = [f"LoadModule {module}_module modules/mod_{module}.so" for module in modules]
    lines += ["Listen 127.0.0.1:8080", "ServerName localhost", f"DocumentRoot {root}/htdocs"]
    for number in range(HOSTS):
        network = "10.0.0.0/8" if number == changed else f"10.{number // 250}.{number % 250}.0/24"
        lines += [
            "<VirtualHost *:8080>",
            f"ServerName h{number}.test",
            f"DocumentRoot /nowhere/h{number}",
            f"<Directory /nowhere/h{number}/in>",
            f"Require ip {network}",
            "</Directory>",
            "</VirtualHost>",
        ]
    (root / f"{name}.conf").write_text("\n".join(lines) + "\n")
    return Side.load(LoadOptions(server_root=str(root), file=str(root / f"{name}.conf")), "2.4", name=name)


def test_one_of_many_hosts_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.verify.verify._FLUSHED", FLUSHED)
    for name in ("htdocs", "logs"):
        (tmp_path / name).mkdir()
    old, new = configuration(tmp_path, "old"), configuration(tmp_path, "new", CHANGED)
    result = verify(old, new, limit=HOSTS * 4)
    assert result.verdict is Verdict.DIFFERENT
    assert {one.probe.host for group in result.groups for one in group.examples} == {f"h{CHANGED}.test:8080"}
    assert len(old.probing.probe_plans.roots) < HOSTS / 2


def test_the_share_of_each_host_is_bounded(tmp_path: Path) -> None:
    for name in ("htdocs", "logs"):
        (tmp_path / name).mkdir()
    side = configuration(tmp_path, "old")
    comparison = Comparison(side, side, verify(side, side, limit=1), 1)
    assert (
        max(len(list(comparison.source.of_group(routes))) for routes in comparison.source.groups()[:20]) <= 10
    )


def test_many_hosts_that_redirect_all_requests_are_decided_within_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site of tests/performance: no request reaches a line about access, and all lines are decided."""
    monkeypatch.setattr("whimbrel.verify.verify._MANY", MANY)
    start = time.process_time()
    options = server(tmp_path, REDIRECTING)
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    new = replace(options, overlay=result.files)
    compared = verify(*load_sides((options, new), ("2.2", "2.4"), ("old", "new")))
    assert {group.reason for group in compared.groups} == {REASON}  # R01, which upgrade leaves to a person
    assert not compared.not_decided
    assert f"as others have equal lines: {REDIRECTING - 2}" in " ".join(compared.limits)
    assert compared.probes < 2 * REDIRECTING + 1000
    assert time.process_time() - start < BOUND
