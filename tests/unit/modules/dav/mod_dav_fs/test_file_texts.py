"""Texts about files in a listing: equal to those about a `Resource`, for any names, files and requests."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from tests.support.client import decoded_body, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.modules.dav.mod_dav import properties
from whimbrel.modules.dav.mod_dav.provider import HREF, MARK
from whimbrel.modules.dav.mod_dav_fs.file_resource import FileResource
from whimbrel.modules.dav.mod_dav_fs.file_texts import MAX_WORDS, WORDS, FileProperties, FileStyle
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = """
LoadModule dav_module modules/mod_dav.so
LoadModule dav_fs_module modules/mod_dav_fs.so
DavLockDB @/locks
AddLanguage de .de
<Directory @/htdocs>
Dav On
%s
</Directory>
"""
LIVE = [name for _prefix, name in WORDS]
CORE = ["supportedlock", "lockdiscovery", "getcontenttype", "getcontentlanguage"]
NAMES = [*LIVE, *CORE, "a", "etag", "link", "text_0"]
SPACES = ["DAV:", "http://apache.org/dav/props/", "urn:z", "", "u'''{link}%s{{\"\\", "<&>"]
CHARACTERS = [*"abz059-_.+!*'(),:;@=~ %#?{}\"\\&<>[]^`|\n", "\udcff", "\udce9", ".html", ".txt", ".de"]
NOW = 1_700_000_000.5
SECONDS = [
    0,
    0.000_000_001,
    0.999_999_999,
    1,
    -5.000_000_001,
    NOW,
    NOW - 0.5,
    NOW - 1,
    NOW + 1,
    253_402_300_799,
]
TIMES = [int(seconds * 10**9) for seconds in SECONDS]


def make_tree(root: Path, random: Random) -> list[str]:
    """Make files and a directory with names of any bytes; return some of their URLs."""
    top = root / "htdocs/big"
    (top / "be&low").mkdir(parents=True)
    paths = []
    for number in range(60):
        name = "".join(random.choices(CHARACTERS, k=random.randint(1, 6))).strip(".") or "x"
        path = top / random.choice(["", "be&low"]) / f"{name}{number if random.random() < 0.5 else ''}"
        if path.exists():
            continue
        path.write_bytes(b"x" * random.choice([0, 1, 9, 10, 255, 4096]))
        path.chmod(random.choice([0o644, 0o755, 0o611]))
        modified = random.choice(TIMES)
        os.utime(path, ns=(modified, modified))
        paths.append(path)
    (top / "link").symlink_to("x")
    return [f"/big/{path.name}" for path in paths if path.parent == top and path.name.isalnum()][:2]


def random_body(random: Random) -> str:
    """Return the body of a PROPFIND."""
    kind = random.choice(["allprop", "propname", "prop", "prop", "prop"])
    if kind != "prop":
        return f'<D:propfind xmlns:D="DAV:"><D:{kind}/></D:propfind>'
    wanted = []
    for _ in range(random.choice([0, 1, 3, 8, MAX_WORDS + 3])):
        space = random.choice(SPACES) if random.random() < 0.3 else "DAV:"
        wanted.append(f"<{random.choice(NAMES)} xmlns={quoteattr(space)}/>")
    return f'<D:propfind xmlns:D="DAV:"><D:prop>{"".join(wanted)}</D:prop></D:propfind>'


def listed(served: Engine, depth: str, body: str) -> tuple[int, str]:
    """Return the status and the body of one PROPFIND."""
    reply = fetch(served, "/big/", depth, method="PROPFIND", body=body)
    return reply.status, decoded_body(reply)


@pytest.mark.parametrize(
    ("dialect", "etag"),
    [
        *(
            (dialect, f"FileETag {bits}")
            for dialect in ("2.2", "2.4")
            for bits in ("None", "INode MTime", "All")
        ),
        ("2.2", ""),
        ("2.4", ""),
        ("2.4", "FileETag Digest"),
    ],
)
def test_texts_are_those_of_resources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str, etag: str
) -> None:
    random = Random(f"{dialect} {etag}")
    monkeypatch.setattr(FakeRuntime, "now", lambda _runtime: NOW)
    served = build_engine(tmp_path, CONF % etag, version=dialect)
    urls = make_tree(tmp_path, random)
    change = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:z">1</a></prop></set></propertyupdate>'
    written = 0
    compiled = FileProperties.compile

    def counted(template: FileProperties, text: str) -> Any:
        nonlocal written
        found = compiled(template, text)
        written += found is not None
        return found

    monkeypatch.setattr(FileProperties, "compile", counted)
    for attempt in range(40):
        if attempt == 20:
            for url in urls:
                assert "200 OK" in fetch(served, url, method="PROPPATCH", body=change).body
        body = random_body(random)
        depth = random.choice(["Depth: 1", "Depth: 0"])
        found = listed(served, depth, body)
        with monkeypatch.context() as context:
            context.setattr(FileResource, "template", lambda _resource: None)
            assert found == listed(served, depth, body), body
    assert written > 10


def test_locks_need_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "htdocs/big").mkdir(parents=True)
    for name in "abc":
        (tmp_path / "htdocs/big" / name).write_text(name)
    served = build_engine(tmp_path, CONF % "")
    body = (
        '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
    )
    assert fetch(served, "/big/b", method="LOCK", body=body).status == 200
    monkeypatch.setattr(FileProperties, "compile", lambda *_: pytest.fail("a text without its lock"))
    text = fetch(served, "/big/", "Depth: 1", method="PROPFIND").body
    assert text.count("<D:activelock>") == 1


def test_texts_of_one_request_are_bounded() -> None:
    template = FileProperties(FileStyle(False, 0, 0))
    assert template.compile(HREF * MAX_WORDS) is not None
    assert template.compile(HREF * (MAX_WORDS + 1)) is None
    assert template.compile(f"{HREF}{MARK}") is None
    texts = properties.FormattedTexts(template, lambda _source, kind: ("", kind[0] or ""), None)
    assert texts.of_all() is not None
    for number in range(2 * properties.MAX_TEXTS):
        found = texts._of_type((str(number), None))
        assert (found is not None) is (number < properties.MAX_TEXTS - 1)
    texts = properties.FormattedTexts(template, lambda *_: ("", "x" * properties.MAX_TEXT), None)
    assert texts.of_all() is None
