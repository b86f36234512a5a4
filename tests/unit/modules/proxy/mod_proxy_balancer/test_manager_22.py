"""balancer-manager of 2.2. Statuses are those of httpd 2.2.34, as recorded."""

from __future__ import annotations

import re
from pathlib import Path

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
