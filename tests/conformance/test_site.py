"""The server root of a case: files, preamble, placeholders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.case import Version, case_of, family_of
from tests.conformance.site import BUILT_IN, FILE_TIME, Modules, RecordedSite, has_directive


def site(version: Version = "2.4", **keys: Any) -> RecordedSite:
    """A site whose modules lie in m/."""
    record = {"id": "a-0001", "conf": "", "modules": ["mime", "log_config"], "answers": {version: {}}, **keys}
    return RecordedSite(case_of(record, version), Modules("m", BUILT_IN[version]))


def test_files() -> None:
    files = {
        "htdocs/a/b.txt": "port @PORT@",
        "htdocs/bytes": {"base64": "AP8="},
        "var/run.sh": {"text": "x", "mode": "0o755"},
        "htdocs/link": {"symlink": "@DOCROOT@/a"},
        "htdocs/empty/": "",
        "htdocs/parts": {"parts": [["ab", 2], ["c", 3]]},
    }
    with site(files=files) as built:
        root = Path(built.root)
        assert (root / "htdocs/a/b.txt").read_text() == f"port {built.ports[0]}"
        assert (root / "htdocs/bytes").read_bytes() == b"\0\xff"
        assert (root / "var/run.sh").stat().st_mode & 0o777 == 0o755
        assert os.readlink(root / "htdocs/link") == built.document_root + "/a"
        assert (root / "htdocs/empty").is_dir()
        assert (root / "htdocs/parts").read_text() == "ababccc"
        assert {
            (root / name).stat().st_mtime
            for name in ("htdocs", "htdocs/a", "htdocs/a/b.txt", "conf/httpd.conf")
        } == {FILE_TIME}
        assert built.read("htdocs/parts") == "ababccc" and built.read("none") == ""
    assert not root.exists()


def test_preamble() -> None:
    with site() as built:
        lines = built.preamble.splitlines()
        assert lines[0] == "LoadModule mime_module m/mod_mime.so"
        assert "LoadModule log_config_module m/mod_log_config.so" not in lines  # built in
        assert f"Listen 127.0.0.1:{built.ports[0]}" in lines
        assert {
            "CustomLog logs/access_log recorded",
            "TypesConfig conf/mime.types",
            "DefaultRuntimeDir run",
        } <= set(lines)
        assert built.read("conf/preamble.conf") == built.preamble


def test_the_configuration_replaces_lines_of_the_preamble() -> None:
    conf = "Listen @PORT2@\n documentroot /x\nTypesConfig y\nTransferLog z\n"
    with site(conf=conf) as built:
        assert not has_directive(built.preamble, "Listen", "DocumentRoot", "TypesConfig", "CustomLog")
        assert built.read("conf/httpd.conf") == conf.replace("@PORT2@", str(built.ports[1]))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.2", "LoadModule mime_module m/mod_mime.so\nLoadModule log_config_module m/mod_log_config.so\n"),
        ("2.4", "LoadModule mime_module m/mod_mime.so\n"),
    ],
)
def test_a_case_without_preamble_has_only_its_modules(version: Version, expected: str) -> None:
    with site(version, preamble=False) as built:
        assert built.preamble == expected


def test_expand_and_mask_are_inverse() -> None:
    with site() as built:
        text = "@SERVERROOT@/a @DOCROOT@/b @PORT@ @PORT2@ @PORT3@"
        assert built.mask()(built.expand(text)) == text
        assert "@" not in built.expand(text)
        assert built.expand("@MODULES@/x") == "m/x"


def test_one_version_of_a_case() -> None:
    record = {
        "id": "a-0001",
        "conf": {"2.2": "old", "2.4": "new"},
        "modules": {"2.2": ["a"], "2.4": ["b"]},
        "answers": {"2.2": {}, "2.4": {}},
        "files": {"2.2": {"x": "1"}, "2.4": {"y": "2"}},
        "requests": [{"headers": {"A": None, "B": 5}, "port": 80, "auth": ["u", "p"]}],
    }
    old, new = case_of(record, "2.2"), case_of(record, "2.4")
    assert (old.conf, old.modules, set(old.files)) == ("old", ("a",), {"x"})
    assert (new.conf, new.modules, set(new.files)) == ("new", ("b",), {"y"})
    (request,) = new.requests
    assert (request.headers, request.port, request.auth) == ((("A", None), ("B", "5")), "80", ("u", "p"))


@pytest.mark.parametrize(
    ("name", "family"),
    [("core-http-0012", "core-http"), ("authz-nested-2-0001", "authz-nested-2"), ("a-h012x", "a")],
)
def test_family(name: str, family: str) -> None:
    assert family_of(name) == family
