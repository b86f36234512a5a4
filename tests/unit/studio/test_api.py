"""Who may use the studio: Host, Origin, token, type and method of each request are checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.studio.studio_site import ORIGIN, PORT, Studio, run, studio_of, write_site

from whimbrel.studio.api import MAX_BODY, StudioRequest, StudioResponse


def ask(root: Path, request: StudioRequest) -> StudioResponse:
    with studio_of(root) as studio:
        return run(studio.api.respond(request))  # type: ignore[return-value]


def call(root: Path, **changed: str) -> StudioResponse:
    with studio_of(root) as studio:
        return run(studio.respond("state", **changed))  # type: ignore[return-value]


def test_the_page_of_the_studio_is_answered(tmp_path: Path) -> None:
    assert call(tmp_path).status == 200
    assert call(tmp_path, host=f"localhost:{PORT}", origin=f"http://localhost:{PORT}").status == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT}.evil"]
)
def test_a_name_that_leads_here_by_dns_is_refused(tmp_path: Path, host: str) -> None:
    assert call(tmp_path, host=host).status == 421
    page = StudioRequest("GET", "/", {"host": host} if host else {})
    assert ask(tmp_path, page).status == 421


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://evil.example", f"https://127.0.0.1:{PORT}", f"{ORIGIN}.evil", "127.0.0.1:8765"],
)
def test_another_origin_is_refused(tmp_path: Path, origin: str) -> None:
    assert call(tmp_path, origin=origin).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_names_another_site_is_refused(tmp_path: Path, site: str) -> None:
    assert call(tmp_path, sec_fetch_site=site).status == 403


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "ü" * 43])
def test_a_wrong_token_is_refused(tmp_path: Path, token: str) -> None:
    assert call(tmp_path, x_whimbrel_token=token).status == 403


def test_a_token_in_a_cookie_or_in_the_url_is_no_token(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        token = studio.session.token
        fields = studio.fields(x_whimbrel_token="", cookie=f"token={token}")
        request = StudioRequest("POST", f"/api/state?key={token}", fields, b"{}")
        assert run(studio.api.respond(request)).status == 403  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_type_that_a_form_can_send_is_refused(tmp_path: Path, kind: str) -> None:
    assert call(tmp_path, content_type=kind).status == 415


def test_the_token_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared: list[int] = []
    real = hmac.compare_digest

    def note(one: bytes, other: bytes) -> bool:
        compared.append(len(one) - len(other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", note)
    call(tmp_path, x_whimbrel_token="x")
    assert compared == [0]


def test_methods_and_paths_are_a_list(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        fields = studio.fields()
        for method, path, status in (
            ("GET", "/api/state", 405),
            ("POST", "/api/__init__", 404),
            ("POST", "/", 405),
            ("GET", "/../../etc/passwd", 404),
            ("GET", "/static/page.html", 404),
            ("GET", "/", 200),
        ):
            found = run(studio.api.respond(StudioRequest(method, path, fields)))
            assert found.status == status, path  # type: ignore[attr-defined]


def test_every_response_forbids_inline_code_and_frames(tmp_path: Path) -> None:
    for response in (call(tmp_path), call(tmp_path, host="evil"), call(tmp_path, origin="")):
        policy = response.fields["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and "form-action 'none'" in policy
        assert response.fields["X-Content-Type-Options"] == "nosniff"


def test_a_long_body_is_refused(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        request = StudioRequest("POST", "/api/state", studio.fields(), b" " * (MAX_BODY + 1))
        assert run(studio.api.respond(request)).status == 413  # type: ignore[attr-defined]


def test_no_request_reads_a_file_outside_the_configuration(tmp_path: Path) -> None:
    write_site(tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")

    async def ask_all(studio: Studio) -> None:
        names = [
            "secret.txt",
            "../secret.txt",
            str(secret),
            "/etc/passwd",
            "conf/../secret.txt",
            "",
            "conf/hosts",
        ]
        for name in names:
            for method in ("file", "edit", "fix"):
                arguments = {
                    "file": name,
                    "path": str(secret),
                    "version": 0,
                    "first": 1,
                    "count": 0,
                    "lines": [],
                }
                response = await studio.respond(method, arguments)
                assert response.status == 404 and b"secret" not in response.body, (method, name)
        found = await studio.respond("findings", {"file": str(secret)})
        assert found.status == 404
        answer = await studio.respond(
            "answer", {"request": {"url": "/", "certificate": str(secret)}, "dialect": "2.2"}
        )
        assert json.loads(answer.body)["status"] == 200 and b"the secret" not in answer.body

    with studio_of(tmp_path) as studio:
        run(ask_all(studio))
