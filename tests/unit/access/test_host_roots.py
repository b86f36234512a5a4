"""The directories of VirtualDocumentRoot, by mod_vhost_alias's specifiers (manual: mod_vhost_alias.html)."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.access.host_roots import MAX_HOST_ROOTS, host_roots
from whimbrel.config.copied_paths import IN_PLACE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%0", {"any", "a.example", "b.example", "named"}),
        ("%0/www", {"any/www", "a.example/www", "b.example/www", "named/www"}),
        ("%-1.example", {"any.example", "a.example", "b.example"}),
        ("x%%", {"x%"}),
        (
            "%2.1/%2.2+",
            {"any/any", "a.example/any", "a.example/www", "b.example/any", "named/any", "named/deep"},
        ),
    ],
)
def test_directories(text: str, expected: set[str], tmp_path: Path) -> None:
    for name in ("a.example/www", "b.example"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").write_text("")
    found = host_roots(f"{tmp_path}/{text}", IN_PLACE, [f"{tmp_path}/named/deep/", "/elsewhere/"], "any")
    assert set(found) == {f"{tmp_path}/{one}" for one in expected}
    assert len(found) == len(expected)


def test_the_number_is_bounded(tmp_path: Path) -> None:
    for number in range(MAX_HOST_ROOTS + 5):
        (tmp_path / f"h{number}").mkdir()
    assert len(host_roots(f"{tmp_path}/%1", IN_PLACE, [], "any")) == MAX_HOST_ROOTS + 1
