"""Digest authentication by a client: responses of the installed httpd and of the recordings."""

from __future__ import annotations

import re
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import MODULES, AccessSite

from whimbrel.modules.aaa.mod_auth_digest.header import read_credentials

AREA = (
    "<Location />\nAuthType Digest\nAuthName Zone\nAuthUserFile conf/dig\nRequire valid-user\n{}</Location>\n"
)


def hashed(*parts: str) -> str:
    return md5(":".join(parts).encode()).hexdigest()


class Browser:
    """A client of RFC 7616 at one site."""

    def __init__(self, root: Path, body: str = "", version: str = "2.4") -> None:
        (root / "conf").mkdir()
        (root / "conf/dig").write_text(f"alice:Zone:{hashed('alice', 'Zone', 'wonder')}\n")
        modules = MODULES[version].replace("auth_basic", "auth_digest")
        self.site = AccessSite(root, AREA.format(body), version, modules)
        self.challenge = self.fields(self.site.fetch(), "WWW-Authenticate")

    @staticmethod
    def fields(answer: str, name: str) -> dict[str, str]:
        line = next((line for line in answer.splitlines() if line.startswith(name + ":")), "")
        return {
            key: quoted or bare for key, quoted, bare in re.findall(r'(\w+)=(?:"([^"]*)"|([^",\s]+))', line)
        }

    def fetch(
        self,
        path: str = "/f.html",
        *,
        user: str = "alice",
        password: str = "wonder",
        uri: str = "",
        nc: str = "00000001",
        qop: str = "auth",
        method: str = "GET",
        **changed: str,
    ) -> str:
        self.site.codes()
        values: dict[str, Any] = {**self.challenge, **changed}
        uri = uri or path
        middle = (nc, "c0", qop) if qop else ()
        response = hashed(
            hashed(user, values["realm"], password), values["nonce"], *middle, hashed(method, uri)
        )
        line = (
            f'Digest username="{user}", realm="{values["realm"]}", nonce="{values["nonce"]}", '
            f'uri="{uri}", response="{response}"'
        )
        line += f', qop={qop}, nc={nc}, cnonce="c0"' if qop else ""
        line += f', opaque="{values["opaque"]}"' if "opaque" in values else ""
        line += f", algorithm={values['algorithm']}"
        return self.site.fetch(path, headers=f"Authorization: {line}\r\n", method=method)

    def result(self, **how: str) -> tuple[int, list[str]]:
        return int(self.fetch(**how).split(" ", 2)[1]), self.site.codes()


@pytest.mark.parametrize(
    ("how", "status", "codes"),
    [
        ({}, 200, []),
        ({"method": "HEAD"}, 200, []),
        ({"password": "nope"}, 401, ["AH01794"]),
        ({"user": "zed"}, 401, ["AH01790"]),
        ({"uri": "/elsewhere"}, 400, ["AH01786"]),
        ({"uri": "http://other:8080/f.html"}, 400, ["AH01786"]),
        ({"uri": "http://localhost/f.html"}, 200, []),
        ({"uri": "http://[::1/f.html"}, 400, ["AH01783"]),
        ({"uri": "/%66.html"}, 200, []),
        ({"nonce": "Zm9yZ2Vk"}, 401, ["AH01782"]),
        ({"nonce": "x" * 52}, 401, ["AH01782"]),
        ({"nonce": "x" * 11 + "=" + "x" * 40}, 401, ["AH01776"]),
        ({"realm": "Nowhere"}, 401, ["AH01788"]),
        ({"qop": ""}, 401, ["AH10560"]),
        ({"qop": "auth-int"}, 401, ["AH10560"]),
        ({"algorithm": "MD5-sess"}, 401, ["AH01789"]),
        ({"algorithm": "md5"}, 200, []),
        ({"opaque": "zz"}, 401, ["AH01787"]),
        ({"nc": "zz"}, 200, []),
    ],
)
def test_what_is_let_in(tmp_path: Path, how: dict[str, str], status: int, codes: list[str]) -> None:
    assert Browser(tmp_path).result(**how) == (status, codes)


def test_the_challenge_and_the_answer(tmp_path: Path) -> None:
    browser = Browser(tmp_path, "AuthDigestDomain /a/ http://x.test/\n")
    nonce = browser.challenge.pop("nonce")
    assert browser.challenge == {
        "realm": "Zone",
        "algorithm": "MD5",
        "domain": "/a/ http://x.test/",
        "qop": "auth",
    }
    assert len(nonce) == 52
    browser.challenge["nonce"] = nonce
    info = browser.fields(browser.fetch(), "Authentication-Info")
    first = hashed("alice", "Zone", "wonder")
    assert info == {
        "rspauth": hashed(first, nonce, "00000001", "c0", "auth", hashed("", "/f.html")),
        "cnonce": "c0",
        "nc": "00000001",
        "qop": "auth",
    }


@pytest.mark.parametrize(
    ("length", "lengths", "complete"),
    [(32, True, True), (31, True, False), (33, True, False), (1, False, True)],
)
def test_the_length_of_a_response(length: int, lengths: bool, complete: bool) -> None:
    nonce = "x" * 11 + "=" + "x" * 40
    line = f'Digest username="a", realm="b", nonce="{nonce}", uri="/", response="{"0" * length}"'
    assert read_credentials(line).complete(lengths=lengths) is complete


def test_22_takes_answers_without_qop(tmp_path: Path) -> None:
    browser = Browser(tmp_path, "", "2.2")
    assert (browser.result(qop="")[0], browser.result(qop="auth-int")[0], browser.result()[0]) == (
        200,
        401,
        200,
    )
    assert browser.fields(browser.fetch(nonce="Zm9yZ2Vk"), "WWW-Authenticate")["stale"] == "true"


def test_a_count_must_rise(tmp_path: Path) -> None:
    browser = Browser(tmp_path, "AuthDigestNcCheck On\n")
    assert [
        browser.result(nc=nc) for nc in ("00000001", "00000001", "00000002", "00000009", "00000005", "zz")
    ] == [(200, []), (401, ["AH01774"]), (200, []), (200, []), (401, ["AH01774"]), (401, ["AH01773"])]


def test_a_one_time_nonce_has_a_successor(tmp_path: Path) -> None:
    browser = Browser(tmp_path, "AuthDigestNonceLifetime 0\n")
    following = browser.fields(browser.fetch(), "Authentication-Info")["nextnonce"]
    again = browser.fields(browser.fetch(), "WWW-Authenticate")
    assert (again["stale"], again["opaque"]) == ("true", browser.challenge["opaque"])
    assert browser.result(nonce=following)[0] == 401, "the refusal sent a nonce of its own"


def test_an_old_nonce_is_stale(tmp_path: Path) -> None:
    browser = Browser(tmp_path, "AuthDigestNonceLifetime 10\n")
    now = browser.site.runtime.now()
    browser.site.runtime.now = lambda: now + 11.0  # type: ignore[method-assign]
    answer = browser.fetch()
    assert browser.fields(answer, "WWW-Authenticate")["stale"] == "true"
    browser.challenge = browser.fields(answer, "WWW-Authenticate")
    assert browser.result() == (200, [])


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_a_user_whom_require_refuses_is_asked_again(tmp_path: Path, version: str) -> None:
    browser = Browser(
        tmp_path,
        "Require user bob\n".replace("Require user", "</Location>\n<Location /f.html>\nRequire user"),
        version,
    )
    challenge = browser.fields(browser.fetch(), "WWW-Authenticate")
    assert sorted(challenge) == (
        ["nonce", "realm"] if version == "2.2" else ["algorithm", "nonce", "qop", "realm"]
    )


@pytest.mark.parametrize(
    ("body", "headers", "status", "codes"),
    [
        ("AuthUserFile conf/none\n", "", 500, ["AH01622"]),
        ("AuthUserFile conf/broken\n", "", 401, ["AH01794"]),
        ("AuthDigestProvider other file\n", "", 200, []),
        ("", "Authorization: Basic YTpi\r\n", 401, ["AH01781"]),
        ("", "Authorization: Digest username=alice\r\n", 401, ["AH01782"]),
        ("", "Authorization: Digest\r\n", 401, ["AH01782"]),
        ("", "Authorization: other\r\n", 401, ["AH01781"]),
    ],
)
def test_what_goes_wrong(tmp_path: Path, body: str, headers: str, status: int, codes: list[str]) -> None:
    browser = Browser(tmp_path)
    (tmp_path / "conf/broken").write_text("alice:Zone\nalice\n:\n\n# x\n")
    (tmp_path / "conf/empty").write_text("")
    alias = "<AuthnProviderAlias file other>\nAuthUserFile conf/empty\n</AuthnProviderAlias>\n"
    modules = MODULES["2.4"].replace("auth_basic", "auth_digest")
    conf = (alias if "other" in body else "") + AREA.format(body)
    browser.site = AccessSite(tmp_path, conf, "2.4", modules)
    browser.challenge = browser.fields(browser.site.fetch(), "WWW-Authenticate")
    if headers:
        browser.site.codes()
        answer = browser.site.fetch(headers=headers)
        assert (int(answer.split(" ", 2)[1]), browser.site.codes()) == (status, codes)
    else:
        assert browser.result() == (status, codes)


def test_an_area_without_a_name(tmp_path: Path) -> None:
    modules = MODULES["2.4"].replace("auth_basic", "auth_digest")
    site = AccessSite(
        tmp_path, "<Location />\nAuthType Digest\nRequire valid-user\n</Location>\n", "2.4", modules
    )
    assert (site.status(), site.codes()) == (500, ["AH01780"])
