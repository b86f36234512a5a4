"""Verdicts of the public API."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, write_site

from whimbrel.api import ConfigurationError, load, verify

NARROWER = CONF.replace("Require ip 10.0.0.0/8", "Require ip 10.0.0.0/9")


def test_equal_sites_are_the_same(tmp_path: Path) -> None:
    conf = write_site(tmp_path, CONF.replace("/nothing", "/htdocs").replace("/cgi\n", "/htdocs\n"))
    verdict = verify(load(conf), load(conf))
    assert verdict.differences == () and verdict.not_decided == () and verdict.requests > 50
    assert verdict.is_same == (not any(item.matters for item in verdict.unknown))


def test_a_difference_names_risk_request_and_lines(tmp_path: Path) -> None:
    old = write_site(tmp_path, CONF, "old.conf")
    new = write_site(tmp_path, NARROWER, "new.conf")
    verdict = verify(load(old), load(new))
    assert not verdict.is_same
    difference = next(one for one in verdict.differences if one.kind == "access")
    assert difference.risk == "closes access" and difference.count > 0
    assert "-> 401" in difference.change and str(difference).startswith(difference.request)
    number = new.read_text().splitlines().index("        Require ip 10.0.0.0/9") + 1
    assert (str(new), number) in [(line.file, line.line) for line in difference.new_lines]
    assert len(set(difference.new_lines)) == len(difference.new_lines)
    back = verify(load(new), load(old))
    assert "opens access" in [one.risk for one in back.differences]


def test_paths_are_read_under_2_2_and_2_4(tmp_path: Path) -> None:
    conf = tmp_path / "httpd.conf"
    conf.write_text('Listen 80\nDocumentRoot "/srv/none"\n<Location /x>\nOrder allow,deny\n</Location>\n')
    with pytest.raises(ConfigurationError) as caught:
        verify(conf)
    assert (caught.value.path, caught.value.line) == (str(conf), 4)
    assert "Invalid command 'Order'" in caught.value.message
    assert verify(load(conf, dialect="2.2"), load(conf, dialect="2.2")).differences == ()


def test_a_limit_bounds_the_requests(tmp_path: Path) -> None:
    conf = write_site(tmp_path)
    few = verify(load(conf), load(conf), limit=20).requests
    assert few < verify(load(conf), load(conf)).requests
