"""The phases between the head and the handler, with the statuses that httpd 2.4 answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite
from tests.support.client import fetch
from tests.support.engine import build_engine

# configuration, request target, status
PATHS = {
    "escaped letter": ("", "/%66.html", 200),
    "escaped slash": ("", "/in%2ff.html", 404),
    "escaped slash, allowed": ("AllowEncodedSlashes On", "/in%2ff.html", 200),
    "escaped NUL": ("", "/f.html%00", 404),
    "bad escape": ("", "/%zz", 400),
    "dot segments": ("", "/in/../f.html", 200),
    "dot segments above the root": ("", "/../f.html", 400),
    "doubled slashes": ("", "//in//f.html", 200),
    "doubled slashes, not merged": ("MergeSlashes Off", "//in//f.html", 200),
    "missing file": ("", "/none", 404),
    "path info of a file": ("", "/f.html/more", 404),
    "path info, accepted": ("AcceptPathInfo On", "/f.html/more", 200),
    "file with a slash behind it": ("", "/f.html/", 404),
    "directory without an index": ("", "/in/", 404),
}


@pytest.mark.parametrize("case", PATHS)
def test_a_target_has_httpds_status(tmp_path: Path, case: str) -> None:
    conf, target, status = PATHS[case]
    assert AccessSite(tmp_path, conf + "\n").status(target) == status


def test_a_directory_without_slash_is_redirected(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "").fetch("/in")
    assert answer.startswith("HTTP/1.1 301 ") and "\r\nLocation: http://localhost/in/\r\n" in answer


@pytest.mark.parametrize("slashes", ["Off", "On", "NoDecode"])
def test_a_nul_ends_the_path(slashes: str, tmp_path: Path) -> None:
    conf = f"AllowEncodedSlashes {slashes}\nLogFormat %U f\nCustomLog log f"
    serving = build_engine(tmp_path, conf, {})
    assert fetch(serving, "/a%00b%41").status == 404
    logs = serving.runtime.logs  # type: ignore[attr-defined]
    assert [b"".join(lines) for name, lines in logs.items() if "log" in str(name)] == [b"/a\n"]


# method, status; 405 has an Allow field
METHODS = {
    "GET": 200,
    "HEAD": 200,
    "POST": 200,
    "OPTIONS": 200,
    "DELETE": 405,
    "PUT": 405,
    "PATCH": 405,
    "BREW": 501,
}


@pytest.mark.parametrize("method", METHODS)
def test_a_file_answers_to_methods_as_httpds_default_handler(tmp_path: Path, method: str) -> None:
    answer = AccessSite(tmp_path, "").fetch("/f.html", method=method)
    assert int(answer.split(" ", 2)[1]) == METHODS[method]
    assert ("\r\nAllow: " in answer) == (method in ("OPTIONS", "DELETE", "PUT", "PATCH", "BREW"))


def test_a_handler_that_no_module_has_sends_the_file(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "SetHandler nobodys-handler\n")
    assert site.fetch("/f.html").endswith("\r\n\r\npage\n")


HOST = "<VirtualHost *:80>\n{}</VirtualHost>\n"


@pytest.mark.parametrize("version", ["2.4", "2.2"])
@pytest.mark.parametrize(
    ("conf", "status"),
    [
        ("AllowEncodedSlashes On\n", 200),
        ("AllowEncodedSlashes On\n" + HOST.format(""), 404),
        ("AllowEncodedSlashes On\n" + HOST.format("FileETag None\n"), 404),
        (HOST.format("AllowEncodedSlashes On\n"), 200),
    ],
)
def test_virtual_hosts_have_encoded_slashes_of_their_own(
    tmp_path: Path, version: str, conf: str, status: int
) -> None:
    """merge_core_dir_configs of httpd 2.4.71 and 2.2.34."""
    engine = build_engine(tmp_path, conf, {"htdocs/in/f.html": "f"}, version)
    assert fetch(engine, "/in%2ff.html").status == status
