"""Choice of members. Expected orders are those of httpd 2.4.71 and 2.2.34, as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.balancers import balancing, cluster
from tests.support.client import fetch


def order(root: Path, conf: str, count: int, version: str = "2.4", traffic: int = 0) -> str:
    """Return the last digits of the ports that answer *count* requests."""
    engine, member = balancing(root, conf, version)
    member.traffic = traffic
    return "".join(fetch(engine, "/b/x").body[-1:] for _ in range(count))


@pytest.mark.parametrize(
    ("version", "method", "expected"),
    [
        ("2.4", "byrequests", "112111211121"),
        ("2.2", "byrequests", "111211121112"),
        ("2.4", "bybusyness", "112111211121"),
        ("2.2", "bybusyness", "111211121112"),
    ],
)
def test_load_factors_of_3_and_1(version: str, method: str, expected: str, tmp_path: Path) -> None:
    conf = cluster("81 loadfactor=3", "82 loadfactor=1", settings=f"lbmethod={method}")
    assert order(tmp_path, conf, 12, version) == expected


@pytest.mark.parametrize("version", ["2.4", "2.2"])
@pytest.mark.parametrize("method", ["byrequests", "bytraffic", "bybusyness"])
def test_equal_members_take_turns(version: str, method: str, tmp_path: Path) -> None:
    conf = cluster("81", "82", settings=f"lbmethod={method}")
    assert order(tmp_path, conf, 8, version, traffic=1000) == "12121212"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (("81", "82 status=+H"), "1111"),
        (("81 status=+D", "82 status=+H"), "2222"),
        (("81 lbset=1", "82"), "2222"),
        (("81 status=+D", "82 lbset=1"), "2222"),
    ],
)
@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_standbys_and_sets(version: str, members: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    assert order(tmp_path, cluster(*members), 4, version) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (("81", "82", "83 status=+R"), "1212"),
        (("81", "82 status=+D", "83 status=+R"), "1313"),
        (("81 status=+N", "82"), "2222"),
        (("81 status=+N", "82 status=+R"), "2222"),
        (("81 status=+C", "82"), "2222"),
    ],
)
def test_spares_and_draining_members(members: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    assert order(tmp_path, cluster(*members), 4) == expected
