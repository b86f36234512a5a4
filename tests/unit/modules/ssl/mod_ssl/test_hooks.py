"""Access checks of mod_ssl compared with recorded statuses and log codes, with fake sessions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.tls import case, recorded_tls
from tests.support.tls_site import TlsSite

# recorded cases of <Location /s>, whose eight requests are those of `statuses`
SECTIONS = (10, 11, 12, 13, 16, 17, 18, 20, 21, 24, 30, 31)


def statuses(site: TlsSite) -> list[int]:
    """Return the statuses of the requests that were recorded; the session is one of TLS 1.3 but for the
    last.
    """
    new, old = recorded_tls(), recorded_tls()
    new.version, new.cipher = "TLSv1.3", "TLS_AES_256_GCM_SHA384"
    return [
        site.status_over(new),
        site.status_over(new, "/in/f.html"),
        site.status_over(None, "/in/f.html"),
        site.status_over(None),
        site.status_over(new, "/in/f.html", "alice:wonder"),
        site.status_over(None, "/in/f.html", "alice:wonder"),
        site.status_over(new, "/in/f.html", source="127.0.0.2"),
        site.status_over(old, "/in/f.html"),
    ]


@pytest.mark.parametrize("number", SECTIONS)
def test_recorded_sections(tmp_path: Path, number: int) -> None:
    recorded = case(number)
    conf = recorded["conf"] if isinstance(recorded["conf"], str) else recorded["conf"]["2.4"]
    lines = re.search(r"<Location /s>\n(.*?)</Location>", conf, re.DOTALL)
    assert lines is not None
    section = lines[1].replace("conf/pw", "conf/users")
    site = TlsSite(tmp_path, f"<Location /in>\n{section}</Location>\n", "2.4")
    answer = recorded["answers"]["2.4"]
    assert statuses(site) == [response["status"] for response in answer["responses"]]
    codes = [code for line in answer["error_log"] for code in re.findall(r"AH\d{5}", line)]
    assert site.codes() == [code for code in codes if code != "AH01873"]


def test_users_of_certificates(tmp_path: Path) -> None:
    name = "/C=XX/ST=Some State/L=Town/O=Birds, Inc./OU=Dept One/OU=Dept Two/CN=Curlew"
    name += "/emailAddress=curlew@example.org"
    conf = """<Location /in>
SSLOptions +FakeBasicAuth
AuthType Basic
AuthName c
AuthUserFile conf/fakes
Require valid-user
</Location>
"""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/fakes").write_text(f"{name}:xxj31ZMTZzkVA\n")
    site = TlsSite(tmp_path, conf)
    path = "/in/f.html"
    assert site.status_over(recorded_tls(), path) == 401
    assert site.status_over(recorded_tls("conf/cl1.pem"), path) == 200
    assert site.status_over(recorded_tls("conf/cl2.pem"), path) == 401
    assert site.status_over(recorded_tls(), path, f"{name}:password") == 403
    assert site.codes()[-1] == "AH02035"


def test_user_name_of_a_variable(tmp_path: Path) -> None:
    conf = 'SSLUserName SSL_CLIENT_S_DN_CN\nHeader set X-User "expr=%{REMOTE_USER}"\n'
    site = TlsSite(tmp_path, conf)
    assert site.fields(site.over(recorded_tls("conf/cl1.pem")))["X-User"] == "Curlew"
    assert site.fields(site.over(recorded_tls()))["X-User"] == ""
    assert site.codes() == ["AH02227"]


def test_require_ssl_verify_client(tmp_path: Path) -> None:
    site = TlsSite(tmp_path, "<Location /in>\nRequire ssl-verify-client\n</Location>\n")
    failed = recorded_tls("conf/cl1.pem")
    failed.verify_error = "certificate has expired"
    sessions = (recorded_tls("conf/cl1.pem"), recorded_tls(), failed, None)
    assert [site.status_over(tls, "/in/f.html") for tls in sessions] == [200, 403, 403, 403]
