"""mod_log_forensic.  Lines are those of httpd 2.4.71."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.loggers.mod_log_forensic import sinks

CONF = "LoadModule log_forensic_module modules/mod_log_forensic.so\nForensicLog logs/forensic\n"


def written(root: Path, conf: str = CONF) -> list[str]:
    """Return the log of one request."""
    serving = build_engine(root, conf, {"htdocs/a.txt": ""})
    fetch(serving, "/a.txt?a|b%20", 'X-Y: a|b:c%d\te;\xe9"\\')
    logs: dict[str, list[bytes]] = serving.runtime.logs  # type: ignore[attr-defined]
    return b"".join(logs[str(root / "logs/forensic")]).decode("latin-1").splitlines()


def test_lines(tmp_path: Path) -> None:
    begin, end = written(tmp_path)
    found = re.fullmatch(r"\+(\d+:[0-9a-f]+:0)(\|.*)", begin)
    assert found is not None
    assert (
        found[2]
        == '|GET /a.txt?a%7cb%2520 HTTP/1.1|Host:localhost|Connection:close|X-Y:a%7cb%3ac%25d%09e;%e9"\\'
    )
    assert end == f"-{found[1]}"


def test_unique_ids_are_used(tmp_path: Path) -> None:
    begin, end = written(tmp_path, "LoadModule unique_id_module modules/mod_unique_id.so\n" + CONF)
    assert re.match(r"\+[\w@-]{27}\|GET", begin)
    assert end == "-" + begin[1:28]


def test_the_log_is_opened_at_the_start(tmp_path: Path) -> None:
    assert [sink.target for sink in sinks(build_engine(tmp_path, CONF).configuration)] == [
        str(tmp_path / "logs/forensic")
    ]
