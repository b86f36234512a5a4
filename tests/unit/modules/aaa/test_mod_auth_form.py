"""Logins by a form: statuses, fields and codes of the installed httpd."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields
from tests.support.statuses import ALLOWED, CHALLENGED, FAILED

from whimbrel.base.errors import ConfigError

LOADED = MODULES["2.4"] + " auth_form session session_cookie request alias"
AREA = (
    "LogLevel auth_form:debug\nSession On\nSessionCookieName sess path=/\n<Location />\nAuthUserFile "
    "conf/users\n{}</Location>\n"
    "<Location /f.html>\nAuthType form\nAuthName zone\nRequire valid-user\n{}</Location>\n"
)
GOOD, BAD = "httpd_username=alice&httpd_password=wonder", "httpd_username=alice&httpd_password=x"
KEPT = "sess=zone-user=alice&zone-pw=wonder"


class Form:
    """A site with one protected page."""

    def __init__(self, root: Path, inside: str = "", outside: str = "", server: str = "") -> None:
        self.site = AccessSite(root, AREA.format(outside, inside) + server, "2.4", LOADED)

    def get(self, cookie: str = "", path: str = "/f.html") -> str:
        return self.site.fetch(path, headers=f"Cookie: {cookie}\r\n" if cookie else "")

    def post(
        self,
        body: str,
        path: str = "/f.html",
        kind: str = "application/x-www-form-urlencoded",
        method: str = "POST",
        cookie: str = "",
    ) -> str:
        head = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" + (
            f"Cookie: {cookie}\r\n" if cookie else ""
        )
        from whimbrel.engine.request import Connection
        from whimbrel.testing.client import TestClient

        data = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n{body}".encode()
        return (
            TestClient(self.site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
            .send(data)
            .decode("latin-1")
        )


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


@pytest.mark.parametrize(
    ("cookie", "expected", "codes"),
    [
        ("", 401, []),
        (KEPT, 200, []),
        ("sess=zone-user=alice&zone-pw=x", 401, ["AH01807"]),
        ("sess=zone-user=zed&zone-pw=x", 401, ["AH01808"]),
        ("sess=other-user=alice&other-pw=wonder", 401, []),
        ("sess=zone-user=alice", 401, []),
        (KEPT + "; sess=a=b", 401, ["AH00011"]),
        ("sess=expiry=1&zone-user=alice&zone-pw=wonder", 401, []),
    ],
)
def test_sessions(tmp_path: Path, cookie: str, expected: int, codes: list[str]) -> None:
    form = Form(tmp_path)
    answer = form.get(cookie)
    assert (status(answer), form.site.codes()) == (expected, codes)
    assert session_fields(answer, "Cache-Control") == (
        ["no-store"] if expected == 401 else ["no-cache, private"]
    )


@pytest.mark.parametrize(
    ("body", "expected", "codes"),
    [
        (GOOD, 200, []),
        (BAD, 401, ["AH01807"]),
        ("httpd_username=alice", 401, ["AH02983"]),
        ("httpd_password=alice", 401, ["AH02982"]),
        ("httpd_username=&httpd_password=", 401, ["AH01808"]),
        ("", 401, ["AH02982"]),
        ("httpd_username=zed&" + GOOD, 401, ["AH01808"]),
        (GOOD + "&httpd_username=zed", 200, []),
        (BAD.replace("alice", "alice%00x", 1), 401, ["AH01807"]),
    ],
)
def test_a_login_on_the_page_itself(tmp_path: Path, body: str, expected: int, codes: list[str]) -> None:
    form = Form(tmp_path)
    answer = form.post(body)
    assert (status(answer), form.site.codes()) == (expected, codes)
    assert session_fields(answer, "Set-Cookie") == (
        ["sess=zone-user=alice&zone-pw=wonder;path=/"] if expected == 200 else []
    )


def test_a_form_that_is_too_large(tmp_path: Path) -> None:
    answer = Form(tmp_path, "AuthFormSize 20\n").post(GOOD)
    assert status(answer) == 413
    assert session_fields(answer, "Content-Length") != []


def test_only_forms_are_read(tmp_path: Path) -> None:
    form = Form(tmp_path)
    assert status(form.post(GOOD, kind="application/json")) == 401
    assert status(form.post(GOOD, method="PUT")) == 401
    assert form.site.codes() == ["AH02982"]


def test_a_login_leads_on(tmp_path: Path) -> None:
    form = Form(
        tmp_path,
        "AuthFormLoginSuccessLocation http://h/ok\nAuthFormLoginRequiredLocation "
        "http://h/in?%{REQUEST_URI}\n",
    )
    for answer, place in (
        (form.post(GOOD), "http://h/ok"),
        (form.post(GOOD + "&httpd_location=/loc"), "/loc"),
        (form.post(BAD), "http://h/in?/f.html"),
        (form.get(), "http://h/in?/f.html"),
    ):
        assert (
            status(answer),
            session_fields(answer, "Location"),
            session_fields(answer, "Cache-Control"),
        ) == (
            302,
            [place],
            [],
        )


@pytest.mark.parametrize(
    ("body", "location"),
    [
        (BAD + "&httpd_location=/loc", "/loc"),
        ("httpd_username=alice&httpd_location=/loc", "/loc"),
        ("httpd_location=/loc", "/loc"),
        (BAD + "&httpd_method=PUT", None),
    ],
)
def test_a_refused_form_leads_to_its_location(tmp_path: Path, body: str, location: str | None) -> None:
    answer = Form(tmp_path).post(body)
    assert (status(answer), session_fields(answer, "Location"), session_fields(answer, "Cache-Control")) == (
        (CHALLENGED, [], ["no-store"]) if location is None else (302, [location], [])
    )


def test_passing_on_and_storing(tmp_path: Path) -> None:
    form = Form(
        tmp_path,
        "AuthFormAuthoritative Off\nAuthFormDisableNoStore On\nAuthFormUsername u\nAuthFormPassword p\n",
    )
    assert [
        status(a)
        for a in (form.get("sess=zone-user=zed&zone-pw=x"), form.post("u=zed&p=x"), form.post("u=alice&p=x"))
    ] == [FAILED, FAILED, CHALLENGED]
    assert form.site.codes() == ["AH01796", "AH01796", "AH01807"]
    assert session_fields(form.get(), "Cache-Control") == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("zone-user=zed&zone-pw=p&zone-site=" + md5(b"zed:secret").hexdigest(), 200),
        ("zone-user=zed&zone-site=" + md5(b"zed:secret").hexdigest(), 401),
        ("zone-user=zed&zone-pw=p&zone-site=" + md5(b"alice:secret").hexdigest(), 401),
        ("zone-user=alice&zone-pw=wonder&zone-site=bad", 200),
        ("zone-user=zed&zone-pw=p&zone-site=", 401),
    ],
)
def test_a_site_passphrase(tmp_path: Path, values: str, expected: int) -> None:
    assert status(Form(tmp_path, "AuthFormSitePassphrase secret\n").get(f"sess={values}")) == expected


def test_without_a_site_passphrase_no_proof_counts(tmp_path: Path) -> None:
    assert (
        status(Form(tmp_path).get("sess=zone-user=zed&zone-pw=p&zone-site=" + md5(b"zed:").hexdigest()))
        == 401
    )


def test_a_login_under_a_passphrase_says_so(tmp_path: Path) -> None:
    answer = Form(tmp_path, "AuthFormSitePassphrase secret\n").post(GOOD)
    assert session_fields(answer, "Set-Cookie") == [
        "sess=zone-user=alice&zone-pw=wonder&zone-site=6f622058968bb90757e6c6ed79e5df81;path=/"
    ]


def test_a_realm_is_needed(tmp_path: Path) -> None:
    conf = (
        "Session On\nSessionCookieName sess\n<Location />\nAuthType form\nAuthUserFile "
        "conf/users\nRequire valid-user\n</Location>\n"
    )
    site = AccessSite(tmp_path, conf, "2.4", LOADED)
    assert (site.status(headers=f"Cookie: {KEPT}\r\n"), site.codes()) == (500, ["AH01810"])


LOGIN = (
    "<Location /in/go>\nSetHandler form-login-handler\nAuthType form\nAuthName zone\nRequire all "
    "granted\n{}</Location>\n"
    "<Location /in/out>\nSetHandler form-logout-handler\nAuthName zone\n{}</Location>\n"
)


def test_the_login_handler(tmp_path: Path) -> None:
    form = Form(
        tmp_path,
        server=LOGIN.format(
            "AuthFormLoginRequiredLocation http://h/in\nAuthFormLoginSuccessLocation http://h/ok\n", ""
        ),
    )
    assert (status(form.get(path="/in/go")), form.site.codes()) == (405, ["AH01811"])
    for body, place in (
        (GOOD, "http://h/ok"),
        (BAD, "http://h/in"),
        (GOOD + "&httpd_location=/loc", "/loc"),
        ("zz", "http://h/in"),
    ):
        answer = form.post(body, "/in/go")
        assert (status(answer), session_fields(answer, "Location")) == (302, [place])
        assert bool(session_fields(answer, "Set-Cookie")) is (body.startswith(GOOD))


def test_the_login_handler_without_places(tmp_path: Path) -> None:
    form = Form(tmp_path, server=LOGIN.format("", ""))
    assert [status(form.post(body, "/in/go")) for body in (GOOD, BAD, "zz")] == [
        ALLOWED,
        CHALLENGED,
        CHALLENGED,
    ]


@pytest.mark.parametrize(
    ("cookie", "conf", "expected", "sent"),
    [
        (KEPT + "&k=v", "AuthFormLogoutLocation http://h/bye\n", 307, ["sess=k=v;path=/"]),
        (KEPT, "", 200, ["sess=;Max-Age=0;path=/"] * 2),
        (KEPT + "&zone-site=x&k=v", "SessionMaxAge 100\n", 200, ["sess=k=v&expiry=N;Max-Age=100;path=/"]),
        ("", "", 200, ["sess=;Max-Age=0;path=/"] * 2),
    ],
)
def test_the_logout_handler(tmp_path: Path, cookie: str, conf: str, expected: int, sent: list[str]) -> None:
    answer = Form(tmp_path, server=LOGIN.format("", conf)).get(cookie, "/in/out")
    assert (
        status(answer),
        session_fields(answer, "Set-Cookie"),
        session_fields(answer, "Cache-Control"),
    ) == (
        expected,
        sent,
        ["no-store"],
    )


@pytest.mark.parametrize(
    ("more", "expected", "codes"),
    [
        ("&httpd_method=GET", 500, ["AH01813"]),
        ("&httpd_method=GET&httpd_mimetype=&httpd_body=", 200, ["AH01812"]),
        ("&httpd_method=POST&httpd_mimetype=a/b&httpd_body=q%3D1", 200, []),
        ("&httpd_method=get&httpd_mimetype=a/b", 500, ["AH01813"]),
    ],
)
def test_the_request_that_the_login_came_between(
    tmp_path: Path, more: str, expected: int, codes: list[str]
) -> None:
    form = Form(tmp_path)
    answer = form.post(GOOD + more)
    assert (status(answer), form.site.codes()) == (expected, codes)
    assert session_fields(answer, "Set-Cookie") == ["sess=zone-user=alice&zone-pw=wonder;path=/"]


def test_a_session_is_not_enough_for_others(tmp_path: Path) -> None:
    form = Form(tmp_path, server="<Location /f.html>\nRequire user bob\n</Location>\n")
    answer = form.get(KEPT)
    assert (status(answer), form.site.codes()) == (401, ["AH01631"])


def test_an_error_document_shows_the_form(tmp_path: Path) -> None:
    form = Form(tmp_path, "ErrorDocument 401 /in/f.html\n")
    answer = form.post(BAD)
    assert (
        status(answer) == 401
        and answer.endswith("inner\n")
        and session_fields(answer, "Cache-Control") == ["no-store"]
    )


def test_no_session_no_memory(tmp_path: Path) -> None:
    form = Form(tmp_path, "Session Off\n")
    answer = form.post(GOOD)
    assert (status(answer), session_fields(answer, "Set-Cookie"), status(form.get(KEPT))) == (200, [], 401)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("AuthFormSize -1\n", "AuthCookieFormSize must be a size in bytes, or zero."),
        ("AuthFormProvider anon\n", "Unknown Authn provider: anon"),
        ("AuthFormMethod a=b\n", "AuthFormMethod cannot be empty, or contain '=' or '&'."),
        ('AuthFormLoginSuccessLocation "%{bad"\n', "Could not parse login success"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Form(tmp_path, line)
