"""The handler phase.  Expected log lines are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine


@pytest.mark.parametrize(("body", "status"), [("long", 413), ("ok", 200)])
def test_the_name_of_the_handler_is_restored(body: str, status: int, tmp_path: Path) -> None:
    conf = "LimitRequestBody 2\nLogFormat %R f\nCustomLog log f"
    serving = build_engine(tmp_path, conf, {"htdocs/f.txt": "x"})
    assert fetch(serving, "/f.txt", method="POST", body=body).status == status
    logs = serving.runtime.logs  # type: ignore[attr-defined]
    assert [b"".join(lines) for name, lines in logs.items() if "log" in str(name)] == [b"-\n"]


@pytest.mark.parametrize("path", ["/f.txt", "/none"])
def test_a_refused_body_drops_the_fields_of_errors(path: str, tmp_path: Path) -> None:
    conf = (
        "LoadModule usertrack_module m/mod_usertrack.so\nLoadModule headers_module m/mod_headers.so\n"
        "LimitRequestBody 2\nCookieTracking On\nHeader always set X-Always a"
    )
    serving = build_engine(tmp_path, conf, {"htdocs/f.txt": "x"})
    refused = fetch(serving, path, method="PUT", body="long")
    assert (refused.status, refused.get("Set-Cookie"), refused.get("X-Always")) == (413, None, "a")
    assert fetch(serving, path, method="PUT").get("Set-Cookie") is not None
