"""Sub-requests: those of mod_dir, which a fast redirect takes over, and those of mod_include."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

MODULES = "mpm_event authz_core dir mime include alias"
PAGES = """
AddOutputFilter INCLUDES .shtml
<Directory "@DOCROOT@">
Options +Includes
</Directory>
"""


def site_with(root: Path, conf: str = "", **pages: str) -> AccessSite:
    """A site with *pages*, each NAME.shtml."""
    site = AccessSite(
        root, "TypesConfig /dev/null\nAddType text/html .shtml .html\n" + PAGES + conf, modules=MODULES
    )
    for name, text in pages.items():
        (root / "htdocs" / f"{name}.shtml").write_text(text)
    return site


def body(answer: str) -> str:
    """The body of a response; of a chunked one, the data of its chunks."""
    head, _, rest = answer.partition("\r\n\r\n")
    if "\r\nTransfer-Encoding: chunked" not in head:
        return rest
    data = ""
    while (size := int(rest.partition("\r\n")[0], 16)) > 0:
        rest = rest.partition("\r\n")[2]
        data, rest = data + rest[:size], rest[size + 2 :]
    return data


def test_an_index_answers_for_its_directory(tmp_path: Path) -> None:
    answer = site_with(tmp_path, "DirectoryIndex none.html f.html\n").fetch("/in/")
    assert answer.startswith("HTTP/1.1 200 ") and body(answer) == "inner\n"


def test_the_settings_of_the_index_file_hold_for_its_directory(tmp_path: Path) -> None:
    conf = "DirectoryIndex f.html\n<Files f.html>\nRequire all denied\n</Files>\n"
    assert site_with(tmp_path, conf).status("/in/") == 403


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ('virtual="/f.html"', "page\n"),
        ('virtual="in/f.html"', "inner\n"),
        ('file="f.html"', "page\n"),
        ('file="in/f.html"', "inner\n"),
        ('virtual="/in/../f.html"', "page\n"),
        ('virtual="/none"', "[an error occurred while processing this directive]"),
        ('file="/f.html"', "[an error occurred while processing this directive]"),
        ('file="../f.html"', "[an error occurred while processing this directive]"),
    ],
)
def test_a_document_includes_another(tmp_path: Path, element: str, text: str) -> None:
    site = site_with(tmp_path, page=f"<<!--#include {element} -->>")
    assert body(site.fetch("/page.shtml")) == f"<{text}>"


def test_a_denied_document_is_not_included(tmp_path: Path) -> None:
    conf = "<Location /in>\nRequire all denied\n</Location>\n"
    site = site_with(tmp_path, conf, page='<<!--#include virtual="/in/f.html" -->>')
    assert body(site.fetch("/page.shtml")) == "<[an error occurred while processing this directive]>"


def test_a_document_that_includes_itself_is_stopped(tmp_path: Path) -> None:
    site = site_with(tmp_path, "LimitInternalRecursion 5\n", page='x<!--#include virtual="/page.shtml" -->')
    assert body(site.fetch("/page.shtml")) == "xxxxxx[an error occurred while processing this directive]"
    assert site.codes() == ["AH00125"]


@pytest.mark.parametrize("field", ['If-Match: "q"', "If-None-Match: *"])
def test_conditions_do_not_apply_to_fragments(tmp_path: Path, field: str) -> None:
    site = site_with(tmp_path, outer='<!--#include virtual="/f.html" -->')
    assert body(site.fetch("/outer.shtml", headers=f"{field}\r\n")) == "page\n"


FIELDS = """
LoadModule headers_module modules/mod_headers.so
RequestHeader append X-Q more
<Files sub.shtml>
RequestHeader append X-Q sub
</Files>
<Location /page.shtml>
Header echo X-Q
</Location>
"""
TESTED = (
    '<!--#if expr="%{HTTP:X-Q} =~ /more, more, sub$/" -->own<!--#endif -->'
    '<!--#if expr="-n %{HTTP:Content-Language}" --> language<!--#endif -->'
)


@pytest.mark.parametrize(("method", "included"), [("GET", "own language"), ("POST", "own")])
def test_a_sub_request_has_request_fields_of_its_own(tmp_path: Path, method: str, included: str) -> None:
    """apache2 2.4.71 answers so: each sub-request changes a copy, without fields about a body."""
    element = '<!--#include virtual="/sub.shtml" -->'
    site = site_with(tmp_path, FIELDS, page=f"[{element}][{element}]", sub=TESTED)
    fields = "X-Q: in\r\nContent-Language: de\r\n" + ("Content-Length: 0\r\n" if method == "POST" else "")
    answer = site.fetch("/page.shtml", method=method, headers=fields)
    assert "\r\nX-Q: in, more\r\n" in answer
    assert body(answer) == f"[{included}][{included}]"
