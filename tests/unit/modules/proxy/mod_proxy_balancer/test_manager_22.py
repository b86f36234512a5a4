"""balancer-manager of 2.2. Statuses are those of httpd 2.2.34, as recorded."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.balancers import balancing, cluster
from tests.support.client import fetch

MANAGER = "<Location /bm>\nSetHandler balancer-manager\n</Location>"


def test_a_member_is_changed_by_get_with_the_nonce(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81", "82", after=MANAGER), "2.2")
    first = fetch(engine, "/bm")
    found = re.search("nonce=([-0-9a-f]+)", first.body)
    assert found is not None and "<td>1</td><td>0</td><td>Ok</td>" in first.body
    query = f"/bm?b=cl&w=http://127.0.0.1:81&lf=7&wr=r&dw=Disable&nonce={found[1]}"
    assert "<td>r</td><td></td><td>7</td><td>0</td><td>Dis </td>" in fetch(engine, query).body
    assert "Edit worker" in fetch(engine, query).body
    assert "Edit worker" not in fetch(engine, query.replace("nonce=", "nonce=0")).body


@pytest.mark.parametrize(
    ("method", "query", "status"),
    [("GET", "", 200), ("GET", "?b", 400), ("GET", "?b=%zz", 400), ("POST", "", 404), ("GET", "?xml=1", 200)],
)
def test_statuses(method: str, query: str, status: int, tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81", after=MANAGER), "2.2")
    assert fetch(engine, f"/bm{query}", method=method, body="x" if method == "POST" else "").status == status


def test_the_document_has_each_balancer_with_its_members(tmp_path: Path) -> None:
    """mod_proxy_balancer.c of 2.2, balancer_handler, with ?xml=1."""
    engine, _ = balancing(tmp_path, cluster("81 loadfactor=7", "82", after=MANAGER), "2.2")
    found = re.search("nonce=([-0-9a-f]+)", fetch(engine, "/bm").body)
    assert found is not None
    answer = fetch(engine, f"/bm?xml=1&nonce={found[1]}")
    root = ElementTree.fromstring(answer.body)
    assert answer.get("Content-Type") == "text/xml"
    name = "{http://httpd.apache.org}"
    assert (root.tag, [one.tag for one in root]) == (f"{name}manager", [f"{name}balancers"])
    (balancer,) = root[0]
    assert [one.tag.removeprefix(name) for one in balancer] == ["name", "workers"]
    assert balancer[0].text == "balancer://cl"
    members = [[(part.tag.removeprefix(name), part.text) for part in one] for one in balancer[1]]
    assert members == [
        [("scheme", "http"), ("hostname", "127.0.0.1"), ("loadfactor", factor)] for factor in ("7", "1")
    ]
