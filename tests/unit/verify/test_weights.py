"""What a person reads first: requests for documents that are there, other methods, then made-up names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.probe import Probe
from whimbrel.verify.weights import Weight, weight_of


@pytest.mark.parametrize(
    ("method", "target", "weight"),
    [
        ("GET", "/a.html", Weight.DOCUMENT),
        ("GET", "/", Weight.ROOT),
        ("HEAD", "/a.html", Weight.HEAD),
        ("OPTIONS", "/a.html", Weight.METHOD),
        ("GET", "/whimbrel-probe.php", Weight.NAME),
        ("GET", "/none.html", Weight.NAME),
        ("FROB", "/whimbrel-probe.php", Weight.INVENTED),
        ("OPTIONS", "/none.html", Weight.INVENTED),
    ],
)
def test_the_weight_of_a_request(tmp_path: Path, method: str, target: str, weight: Weight) -> None:
    make_root(tmp_path)
    (tmp_path / "htdocs/a.html").write_text("a\n")
    (tmp_path / "htdocs/whimbrel-probe.php").write_text("of a comparison\n")
    one = side(tmp_path, "one", "", "2.4")
    probe = Probe(target, method=method, host="localhost:8080", port=8080)
    answer = one.answer(probe)
    assert weight_of(probe, (answer, answer), (one, one)) is weight
