"""mod_case_filter_in: the bytes that a handler reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

LOAD = (
    "LoadModule case_filter_in_module modules/mod_case_filter_in.so\n"
    "LoadModule reflector_module modules/mod_reflector.so\n"
    "<Location /r>\nSetHandler reflector\n%s\n</Location>\n"
)


@pytest.mark.parametrize(
    ("inner", "outer", "body"),
    [
        ("SetInputFilter CASEFILTERIN", "", "SOME \xe4 BODY"),
        ("", "CaseFilterIn On", "SOME \xe4 BODY"),
        ("", "", "some \xe4 body"),
    ],
)
def test_letters_are_written_in_upper_case(tmp_path: Path, inner: str, outer: str, body: str) -> None:
    reply = fetch(build_engine(tmp_path, LOAD % inner + outer), "/r", method="POST", body="some \xe4 body")
    assert (reply.body, reply.get("Content-Length")) == (body, str(len(body)))
