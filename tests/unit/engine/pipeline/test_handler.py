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
