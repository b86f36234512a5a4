"""balancer-manager. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.balancers import balancing, cluster
from tests.support.client import decoded_body, fetch

from whimbrel.modules.proxy.mod_proxy_balancer.manager import parameters

REFERER = "Referer: http://localhost/bm"
MANAGER = "<Location /bm>\nSetHandler balancer-manager\n</Location>"


def managed(root: Path, settings: str = "nonce=n growth=2", *members: str, version: str = "2.4") -> Any:
    conf = cluster(*(members or ("81 route=r1", "82")), settings=settings, after=MANAGER)
    return balancing(root, conf, version)[0]


def post(engine: Any, body: str, referer: str = REFERER) -> int:
    return fetch(engine, "/bm", referer, method="POST", body=body).status


def page(engine: Any, query: str = "", referer: str = REFERER) -> str:
    return decoded_body(fetch(engine, f"/bm{query}", referer))


def test_parameters() -> None:
    assert parameters("a=%41+b&&c&d=1=2&e=x%00y") == [("a", "A+b"), ("c", ""), ("d", "1=2"), ("e", "x")]


def test_all_changes_of_a_member(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    body = (
        "b=cl&w=http%3A%2F%2F127.0.0.1%3A81&nonce=n&w_lf=2.5&w_wr=zz&w_rr=q&w_ls=3&w_status_N=1&w_status_I=1"
    )
    assert post(engine, body) == 200
    row = re.search("81</a></td>(.*)</tr>", page(engine))
    assert row is not None
    assert row[1].startswith("<td>zz</td><td>q</td><td>2.50</td><td>3</td><td>Init Ign Drn Ok </td>")
    assert post(engine, "b=cl&w=http://127.0.0.1:81&nonce=n&w_status_N=0&w_lf=0.5") == 200
    assert "<td>2.50</td><td>3</td><td>Init Ign Ok </td>" in page(engine)


@pytest.mark.parametrize(
    ("factor", "shown"),
    [("1.005", "1.00"), ("1e1", "10.00"), ("0x10", "16.00"), ("1.5junk", "1.50"), ("nan", "1.00")],
)
def test_load_factors_are_read_as_c_reads_doubles(tmp_path: Path, factor: str, shown: str) -> None:
    engine = managed(tmp_path)
    assert post(engine, f"b=cl&w=http://127.0.0.1:81&nonce=n&w_lf={factor}") == 200
    assert f"<httpd:loadfactor>{shown}</httpd:loadfactor>" in page(engine, "?xml=1&b=cl")


def test_a_member_that_is_enabled_again_does_not_reset_the_rotation(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    member = "b=cl&w=http://127.0.0.1:81&nonce=n&"
    for change in ("w_lf=3", "w_status_S=1", "w_status_S=0"):
        assert post(engine, member + change) == 200
    assert "<httpd:lbstatus>300</httpd:lbstatus>" in page(engine, "?xml=1&b=cl")
    assert post(engine, "b=cl&nonce=n&b_lbm=bytraffic") == 200
    assert "<httpd:lbstatus>300</httpd:lbstatus>" in page(engine, "?xml=1&b=cl")
    assert post(engine, "b=cl&nonce=n&b_lbm=byrequests") == 200
    assert "<httpd:lbstatus>300</httpd:lbstatus>" not in page(engine, "?xml=1&b=cl")


def test_changes_of_a_balancer(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    assert post(engine, "b=cl&nonce=n&b_tmo=5&b_max=9&b_sforce=1&b_ss=Q|q&b_lbm=bytraffic") == 200
    text = page(engine)
    assert "<td>Q|q</td><td>On</td>\n<td>5</td><td>9</td>\n<td>bytraffic</td>" in text
    assert post(engine, "b=cl&nonce=n&b_ss=-&b_lbm=nosuch") == 200
    assert "<td> (None) </td><td>On</td>\n<td>5</td><td>9</td>\n<td>bytraffic</td>" in page(engine)


def test_members_are_added_within_growth(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    add = "b=cl&nonce=n&b_wyes=1&b_nwrkr="
    assert post(engine, f"{add}http://127.0.0.1:9") == 200
    assert post(engine, f"{add}http://127.0.0.1:9") == 400
    assert post(engine, f"{add}nonsense") == 400
    assert post(engine, "b=cl&nonce=n&b_wyes=0&b_nwrkr=http://127.0.0.1:8") == 200
    assert post(engine, f"{add}unix:/tmp/s|http://127.0.0.1:8/") == 200
    assert post(engine, f"{add}http://127.0.0.1:7") == 400
    text = page(engine)
    assert "<td>4 [4 Used]</td>" in text and "<i>unix:/tmp/s|http://127.0.0.1:8/</i>" in text
    assert text.count("Init Dis </td>") == 2
    logs = engine.runtime.logs
    lines = "".join(line.decode() for log in logs.values() for line in log)
    assert "AH10163: balancer://cl: failed to add worker nonsense" in lines
    assert lines.count("AH10164: balancer://cl: failed to add worker ") == 2


@pytest.mark.parametrize(
    ("referer", "accepted"),
    [
        ("Referer: http://LOCALHOST:99/x", True),
        ("Referer: http://other/", False),
        ("Referer: /bm", False),
        ("Referer: localhost", False),
        ("X: y", False),
    ],
)
def test_parameters_of_other_sites_are_ignored(referer: str, accepted: bool, tmp_path: Path) -> None:
    engine = managed(tmp_path)
    assert ("Edit balancer" in page(engine, "?b=cl&nonce=n", referer)) is accepted
    post(engine, "b=cl&w=http://127.0.0.1:81&nonce=n&w_status_D=1", referer)
    assert ("Init Dis </td>" in page(engine)) is accepted
    lines = "".join(line.decode() for log in engine.runtime.logs.values() for line in log)
    assert ("AH10187: ignoring params in balancer-manager cross-site access" in lines) is not accepted


@pytest.mark.parametrize(("settings", "nonce"), [("nonce=n", "bad"), ("nonce=None", ""), ("nonce=n", "")])
def test_nothing_changes_without_the_nonce(settings: str, nonce: str, tmp_path: Path) -> None:
    engine = managed(tmp_path, settings)
    assert post(engine, f"b=cl&w=http://127.0.0.1:81&nonce={nonce}&w_status_D=1") == 200
    assert "Init Dis" not in page(engine)


def test_methods_and_types(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    refused = fetch(engine, "/bm", method="PUT", body="x")
    assert (refused.status, set((refused.get("Allow") or "").split(","))) == (
        405,
        {"GET", "POST", "OPTIONS", "HEAD", "TRACE"},
    )
    assert fetch(engine, "/bm", REFERER).get("Content-Type") == "text/html; charset=ISO-8859-1"
    xml = fetch(engine, "/bm?xml=1", REFERER)
    assert xml.get("Content-Type") == "text/xml"
    assert "<httpd:timeout>0</httpd:timeout>      <httpd:maxattempts>1</httpd:maxattempts>\n" in xml.body
    assert "<httpd:nonce>n</httpd:nonce>" in xml.body


def test_the_form_is_bounded(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    post(engine, "x=" + "y" * 1100 + "&b=cl&w=http://127.0.0.1:81&nonce=n&w_status_D=1")
    assert "Init Dis" not in page(engine)


def test_texts_of_requests_are_escaped(tmp_path: Path) -> None:
    engine = managed(tmp_path)
    post(engine, 'b=cl&w=http://127.0.0.1:81&nonce=n&w_wr=<i>&b_ss="<b>')
    text = page(engine, "?b=cl")
    assert "<td>&lt;i&gt;</td>" in text and "&quot;&lt;b&gt;" in text and "<b>" not in text
