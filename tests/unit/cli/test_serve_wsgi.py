"""The configuration that `serve --wsgi` writes."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from whimbrel.cli.serve_wsgi import application_tree
from whimbrel.utilities.usage_error import UsageError


def test_the_configuration_is_right_and_the_script_finds_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("name", ["", "a b", "a:b:c", ":application", "a;b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError), application_tree(name):
        pass
