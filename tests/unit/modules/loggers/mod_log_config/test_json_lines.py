"""Values of whimbrel_json: any bytes become valid JSON."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.samples import amount

from whimbrel.http.syntax.url import escape_logitem
from whimbrel.modules.loggers.mod_log_config.json_lines import json_number, json_text


@pytest.mark.parametrize("seed", range(amount(6, 20)))
def test_random_bytes_are_json(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        data = chance.randbytes(chance.randrange(40))
        written = json_text(escape_logitem(data.decode("latin-1")))
        assert written.isascii() and "\n" not in written
        assert json.loads(written) == data.decode("utf-8", "backslashreplace")


def test_special_values() -> None:
    assert json_text(None) == "null" and json_number(None) == "null"
    assert json_number("200") == "200"
    assert json_text('""') == '""'  # a user without a name
    assert json.loads(json_text(r"\"\"")) == '""'
    assert json.loads(json_text(r"\xe2\x82\xac")) == "€"
    assert json.loads(json_text(r"\x1b[0m\x00\x7f")) == "\x1b[0m\0\x7f"


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_a_line(tmp_path: Path, version: str) -> None:
    conf = 'LoadModule log_config_module m/mod_log_config.so\nCustomLog logs/log "whimbrel_json"\n'
    serving = build_engine(tmp_path, conf, {"htdocs/a.txt": "A\n"}, version)
    fetch(serving, "/a.txt?q", 'Referer: a"b')
    logs = serving.runtime.logs  # type: ignore[attr-defined]
    (line,) = next(value for key, value in logs.items() if key.endswith("/log"))
    found = json.loads(line)
    assert found["request"] == "GET /a.txt?q HTTP/1.1" and found["status"] == 200 and found["bytes"] == 2
    assert found["referer"] == 'a"b' and found["user_agent"] is None and found["user"] is None
