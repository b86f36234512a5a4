"""Response fields from meta files, as 2.4.71 sends them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

CONF = 'LoadModule cern_meta_module m/mod_cern_meta.so\n<Directory "@">\nMetaFiles On\n</Directory>'


def asked(root: Path, meta: str, conf: str = "") -> Reply:
    return fetch(
        build_engine(root, f"{CONF}\n{conf}", {"htdocs/a.txt": "A\n", "htdocs/.web/a.txt.meta": meta}),
        "/a.txt",
    )


def test_fields_type_and_status(tmp_path: Path) -> None:
    got = asked(tmp_path, "X-A: b\nContent-Type: TEXT/X-Foo; a=B  \r\nStatus: 203 Okay\nX-B:   c\n")
    assert (got.status, got.get("X-A"), got.get("X-B"), got.get("Content-Type")) == (
        203,
        "b",
        "c",
        "text/x-foo; a=B",
    )


@pytest.mark.parametrize(
    ("meta", "status", "field"),
    [
        ("bad\n", 500, None),
        ("", 200, None),
        ("X-A: b", 200, "b"),
        ("X-A: b\n\nX-B: c\n", 200, None),
        ("X-A: 1\nX-A: 2\n", 200, "2"),
    ],
)
def test_shapes_of_files(tmp_path: Path, meta: str, status: int, field: str | None) -> None:
    got = asked(tmp_path, meta)
    assert (got.status, got.get("X-A")) == (status, field)


def test_a_file_that_the_client_may_not_have_says_nothing(tmp_path: Path) -> None:
    assert asked(tmp_path, "X-A: b\n", "<Files a.txt.meta>\nRequire all denied\n</Files>").get("X-A") is None


def test_other_names(tmp_path: Path) -> None:
    files = {"htdocs/a.txt": "A\n", "htdocs/m/a.txt.x": "X-A: b\n"}
    serving = build_engine(
        tmp_path, CONF + '\n<Directory "@/htdocs">\nMetaDir m\nMetaSuffix .x\n</Directory>', files
    )
    assert fetch(serving, "/a.txt").get("X-A") == "b"


def test_off(tmp_path: Path) -> None:
    assert (
        asked(tmp_path, "X-A: b\n", '<Directory "@/htdocs">\nMetaFiles Off\n</Directory>').get("X-A") is None
    )
