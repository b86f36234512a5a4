"""mod_vhost_alias. Expected responses are those of httpd 2.4.71; parts of names are the manual's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import ask, engine

from whimbrel.modules.mappers.mod_vhost_alias import interpolate


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/%0", "/www.domain.example.com"),
        ("/%1", "/www"),
        ("/%2+", "/domain.example.com"),
        ("/%-1", "/com"),
        ("/%-2+", "/www.domain.example"),
        ("/%2.1/%2.2/%2.-1", "/d/o/n"),
        ("/%2.-2+", "/domai"),
        ("/%9", "/_"),
        ("/%1.9", "/_"),
        ("/%%p%p", "/%p80"),
        ("/%1.2+", "/ww"),
    ],
)
def test_interpolation(text: str, wanted: str) -> None:
    assert interpolate(text, "WWW.domain.example.com", 80) == wanted


def test_answers(tmp_path: Path) -> None:
    conf = (
        'LoadModule vhost_alias_module modules/mod_vhost_alias.so\nVirtualDocumentRoot "@/vh/%-1/%1"\nAlias '
        '/al/ "@/other/"'
    )
    serving = engine(tmp_path, conf, {"vh/test/a/x.txt": "TA", "other/x.txt": "AL"})
    assert ask(serving, "http://A.test/x.txt").body == "TA"
    assert ask(serving, "/x.txt").status == 404
    assert ask(serving, "http://A.test/al/x.txt").body == "AL"


def test_addresses(tmp_path: Path) -> None:
    conf = 'LoadModule vhost_alias_module modules/mod_vhost_alias.so\nVirtualDocumentRootIP "@/vh/%0"'
    assert ask(engine(tmp_path, conf, {"vh/127.0.0.1/x.txt": "IP"}), "/x.txt").body == "IP"
