"""Random sites of all modules: a sample beside apache2, and the reduction of differences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential.exchange import Request
from tests.differential.module_sites import random_site
from tests.differential.random_run import (
    EXCEPTIONS,
    MOST_STEPS,
    Difference,
    blocks,
    first_difference,
    known_reason,
    reduced,
    shrunk,
)
from tests.differential.servers import APACHE
from tests.differential.site import GeneratedSite

SEEDS = (11, 12, 13, 14, 15, 16)
SITE = GeneratedSite(
    "TraceEnable On\n<Location />\nOptions None\n<Limit GET>\nBAD line\n</Limit>\n</Location>\nMaxRanges 2\n",
    {".htaccess": "Options All\nExpiresActive On\n", "dir/.htaccess": "Options None\n"},
)
REQUESTS = [Request(f"/{number}") for number in range(9)]


class PlantedDifference:
    """A probe that finds a difference where a line and a request are present; `calls` counts."""

    def __init__(self, line: str, path: str) -> None:
        self.line, self.path, self.calls = line, path, 0

    def __call__(self, seed: int, site: GeneratedSite, requests: list[Request]) -> Difference | None:
        self.calls += 1
        if self.line not in "".join((site.conf, *site.htaccess.values())):
            return None
        for at, request in enumerate(requests):
            for one in (request, *request.then):
                if one.path == self.path:
                    asked = tuple(requests[: at + 1])
                    return Difference(seed, "response", site.conf, site.htaccess, asked, "a", "w")
        return None


@pytest.mark.skipif(not APACHE.present, reason="no apache2 on this machine: nothing to compare with")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_site(seed: int) -> None:
    site, requests = random_site(seed)
    found = first_difference(seed, site, requests)
    assert found is None or known_reason(found.record()) is not None, found


def test_a_seed_is_one_site() -> None:
    assert random_site(7) == random_site(7)
    assert random_site(7) != random_site(8)


@pytest.mark.parametrize(
    ("line", "conf", "htaccess"),
    [
        ("BAD line\n", "<Location />\n<Limit GET>\nBAD line\n</Limit>\n</Location>\n", {}),
        ("MaxRanges 2\n", "MaxRanges 2\n", {}),
        ("ExpiresActive On\n", "", {".htaccess": "ExpiresActive On\n"}),
    ],
)
def test_a_planted_difference_is_reduced_to_its_line(line: str, conf: str, htaccess: dict[str, str]) -> None:
    probe = PlantedDifference(line, "/5")
    found = probe(3, SITE, REQUESTS)
    assert found is not None
    least = reduced(found, probe)
    assert (least.conf, least.htaccess) == (conf, htaccess)
    assert [request.path for request in least.requests] == ["/5"]
    assert probe.calls <= MOST_STEPS + 1


def test_a_pipeline_is_reduced_to_one_request() -> None:
    probe = PlantedDifference("BAD line\n", "/5")
    first = replace(REQUESTS[0], then=(REQUESTS[4], REQUESTS[5]))
    found = probe(3, SITE, [REQUESTS[1], first])
    assert found is not None
    assert reduced(found, probe).requests == (REQUESTS[5],)


def test_a_difference_that_does_not_occur_again_stays_whole() -> None:
    found = Difference(1, "access", SITE.conf, SITE.htaccess, tuple(REQUESTS), "a", "w")
    assert reduced(found, lambda *_: None) == found


@pytest.mark.parametrize("wanted", [(), (0,), (3, 9), (0, 1, 2, 9)])
def test_shrunk_keeps_what_the_test_needs(wanted: Sequence[int]) -> None:
    left = shrunk(range(10), lambda rest: set(wanted) <= set(rest))
    assert list(left) == list(wanted)


def test_blocks_are_lines_and_whole_sections() -> None:
    text = "A\n<If x>\n<Files y>\nB\n</Files>\n</If>\nC\n"
    assert blocks(text) == ["A\n", "<If x>\n<Files y>\nB\n</Files>\n</If>\n", "C\n"]
    assert "".join(blocks(SITE.conf)) == SITE.conf


def test_known_reason(tmp_path: Path) -> None:
    listed = tmp_path / "listed.tsv"
    listed.write_text('# comment\tno reason\n"conf": "MaxR\tthe reason\n')
    found = Difference(1, "response", "MaxRanges 2\n", {}, (), "a", "w")
    assert known_reason(found.record(), listed) == "the reason"
    assert known_reason(replace(found, conf="Other\n").record(), listed) is None
    assert json.loads(found.record())["conf"] == "MaxRanges 2\n"


def test_every_listed_difference_has_a_reason() -> None:
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        pattern, tab, reason = line.partition("\t")
        assert pattern and tab and len(reason.split()) > 2, line
