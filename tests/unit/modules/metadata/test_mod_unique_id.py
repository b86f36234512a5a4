"""mod_unique_id.  The shape of ids is that of httpd 2.4.71 (awGVhjMAHFPWwCOwOO2dnQAAAAE) and of 2.2's
manual.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.metadata.mod_unique_id import IdGenerator

CONF = 'LoadModule unique_id_module modules/mod_unique_id.so\nHeader set U "%{UNIQUE_ID}e"'


def test_each_request_has_its_own(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, {"htdocs/a.txt": ""})
    found = {fetch(serving, "/a.txt").get("U") or "" for _ in range(5)}
    assert len(found) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{27}", one) for one in found)


def test_time_comes_first() -> None:
    assert base64.b64decode(IdGenerator(False).next(0x6B019586, "127.0.0.1") + "=", b"-_")[
        :4
    ] == bytes.fromhex("6b019586")


def test_old_form() -> None:
    assert re.fullmatch(r"[A-Za-z0-9@-]{24}", IdGenerator(True).next(1, "127.0.0.1"))
