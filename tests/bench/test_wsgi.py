"""Servers of Python applications behind nginx."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import wsgi
from bench.documents import CASES


@pytest.mark.parametrize("name", wsgi.NAMES)
def test_the_application_listens_where_nginx_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    socket = tmp_path / "sockets" / f"{name}.sock"
    words = wsgi.argv(tmp_path, name, ["nginx", "-c", "conf"])
    assert words[-3:] == ["nginx", "-c", "conf"]
    assert f"unix:{socket}" in wsgi.nginx(tmp_path, name)
    assert any(word.endswith(str(socket)) for word in words[5:-3])
    assert int(words[5]) == len(words) - 3 - 6


def test_all_servers_answer_the_same_requests() -> None:
    cases = [case for case in CASES if case.site == "wsgi"]
    assert {case.servers for case in cases} == {("whimbrel", "apache", *wsgi.NAMES)}
    assert {case.length for case in cases} == {wsgi.LENGTH, wsgi.STREAM_LENGTH}


def test_the_application_answers_both() -> None:
    names: dict[str, object] = {}
    exec(wsgi.APPLICATION, names)
    application = names["application"]
    assert callable(application)
    for path, length in (("/hello", wsgi.LENGTH), ("/stream", wsgi.STREAM_LENGTH)):
        body = application({"PATH_INFO": path}, lambda *_head: None)
        assert len(b"".join(body)) == length
