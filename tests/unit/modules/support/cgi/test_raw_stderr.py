"""Standard error of programs in the error log of a server."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tests.support.client import error_log
from tests.support.engine import build_engine

from whimbrel.modules.support.cgi.raw_stderr import stderr_writer


def test_lines_are_written_unchanged(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, "")
    r = SimpleNamespace(engine=engine)
    stderr_writer(r, engine.main)(b"oops \xff\\")
    assert error_log(engine) == "oops \xff\\\n"
