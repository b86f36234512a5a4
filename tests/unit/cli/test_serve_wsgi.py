"""The configuration that `serve --wsgi` writes."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

import pytest

from whimbrel.cli import serve_wsgi
from whimbrel.cli.serve_wsgi import application_tree
from whimbrel.utilities.usage_error import UsageError


def test_the_configuration_is_right_and_the_script_finds_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_wsgi.os, "getuid", lambda: 1000)
    (tmp_path / "whimbrel_sample_site.py").write_text("class site:\n    handler = 'found'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with application_tree("whimbrel_sample_site:site.handler") as tree:
        text = (tree / "conf/httpd.conf").read_text()
        assert f'WSGIDaemonProcess application home="{tmp_path}" python-path="{tmp_path}"\n' in text
        assert f'WSGIScriptAlias / "{tree}/application.wsgi" process-group=application ' in text
        assert runpy.run_path(str(tree / "application.wsgi"))["application"] == "found"
    assert not tree.exists()
    sys.modules.pop("whimbrel_sample_site", None)


@pytest.mark.parametrize("what", ["interpreter", "directory"])
def test_root_is_told_what_the_user_nobody_cannot_reach(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="whimbrel-wsgi-test-") as name, monkeypatch.context() as patch:
        Path(name).chmod(0o755)
        check_closed(what, Path(name), patch)


def check_closed(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(serve_wsgi.os, "getuid", lambda: 0)
    (tmp_path / "python").touch(mode=0o755)
    program = closed / "bin/python" if what == "interpreter" else tmp_path / "python"
    monkeypatch.setattr(serve_wsgi.sys, "executable", str(program))
    monkeypatch.chdir(tmp_path if what == "interpreter" else closed)
    with (
        pytest.raises(UsageError, match=f"nobody, who cannot enter {closed}, where"),
        application_tree("a:b"),
    ):
        pass
    closed.chmod(0o755)
    (closed / "bin").mkdir()
    (closed / "bin/python").touch(mode=0o755)
    with application_tree("a:b"):
        pass


@pytest.mark.parametrize("name", ["", "a b", "a:b:c", ":application", "a;b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError), application_tree(name):
        pass
