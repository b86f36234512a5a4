"""The section of server-status about balancers. Expected lines are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.support.balancers import balancing, cluster
from tests.support.client import decoded_body, fetch

STATUS = "ProxyStatus On\n<Location /s>\nSetHandler server-status\n</Location>"


def test_page_and_lines(tmp_path: Path) -> None:
    conf = cluster("81 route=r1 loadfactor=1.5", settings="stickysession=A|b", after=STATUS)
    engine, _ = balancing(tmp_path, conf)
    fetch(engine, "/b/x")
    page = decoded_body(fetch(engine, "/s"))
    assert "<tr><td>A | b</td><td>0</td><td>byrequests</td>\n</table>" in page
    assert (
        "<td>http</td><td>127.0.0.1</td><td>Init Ok </td><td>r1</td><td></td><td>1.50</td><td>0</td>"
        "<td>1</td><td>0</td><td>  0 </td><td>  0 </td>\n</tr>" in page
    )
    lines = decoded_body(fetch(engine, "/s?auto"))
    assert (
        "ProxyBalancer[0]Name: balancer://cl\nProxyBalancer[0]Worker[0]Name: http://127.0.0.1:81\n" in lines
    )
    assert "ProxyBalancer[0]Worker[0]Elected: 1\nProxyBalancer[0]Worker[0]Busy: 0\n" in lines


def test_there_is_none_by_default(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81", after=STATUS.replace("On", "Off")))
    assert "ProxyBalancer" not in decoded_body(fetch(engine, "/s?auto"))
