"""Paths that WSGIScriptAlias gives: those of mod_wsgi 4.9.4 under apache2."""

from __future__ import annotations

import pytest

from whimbrel.modules.wsgi.mod_wsgi.settings import ScriptAlias
from whimbrel.modules.wsgi.mod_wsgi.translate import mapped_path


@pytest.mark.parametrize(
    ("location", "uri", "path"),
    [
        ("/", "/", "/s.wsgi/"),
        ("/", "/a/b", "/s.wsgi/a/b"),
        ("/a", "/a", "/s.wsgi"),
        ("/a", "/a/b", "/s.wsgi/b"),
        ("/a", "//a//b", "/s.wsgi//b"),
        ("/a", "/ab", None),
        ("/a/", "/a", None),
        ("/a/", "/a/b", "/s.wsgib"),
    ],
)
def test_mapped_paths(location: str, uri: str, path: str | None) -> None:
    assert mapped_path(ScriptAlias(location, "/s.wsgi"), uri) == path
