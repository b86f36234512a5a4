"""Failing requests, as the running servers answer: which failure a page names, whose settings hold when the sections could not be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.access import Site

SHUT = """<Directory "@DOCROOT@">
AllowOverride All
ErrorDocument 500 "inner"
</Directory>
ErrorDocument 404 /f.html
<Files f.html>
Order deny,allow
Deny from all
</Files>
"""


def test_an_error_document_that_fails_too(tmp_path: Path) -> None:
    assert "<p>Additionally, a 404 Not Found\nerror was" in Site(tmp_path, SHUT).ask("/none")


def test_the_first_failure_is_named_in_2_2_too(tmp_path: Path) -> None:
    """Recorded of 2.2.34: the ErrorDocument itself is a bad request."""
    conf = "ErrorDocument 404 '/{;<%%\\'#a}'\n"
    answer = Site(tmp_path, conf, version="2.2").ask("/w20")
    assert answer.startswith("HTTP/1.1 404 ") and "<p>Additionally, a 404 Not Found\nerror was" in answer


def test_a_broken_htaccess_leaves_the_settings_as_they_were_before_the_folders(tmp_path: Path) -> None:
    site = Site(tmp_path, SHUT)
    (tmp_path / "htdocs/.htaccess").write_text("nonsense\n")
    answer = site.ask("/in/")
    assert answer.startswith("HTTP/1.1 500 ") and "<title>500 Internal Server Error</title>" in answer


@pytest.mark.parametrize(("size", "framing"), [(7762, "Content-Length: 8000"), (7763, "Transfer-Encoding: chunked")])
def test_the_length_of_a_long_page_is_not_known_when_it_begins(tmp_path: Path, size: int, framing: str) -> None:
    """As 2.4.71 answers a redirect to http://x.test/aaa...: the page has 238 bytes besides."""
    site = Site(tmp_path, "LoadModule alias_module m/mod_alias.so\nRedirectMatch ^/r/(.*)$ http://x.test/$1\n")
    assert f"\r\n{framing}\r\n" in site.ask("/r/" + "a" * size)
