"""What `whimbrel serve --watch` watches, and when it reloads."""

from __future__ import annotations

import builtins
import time
from pathlib import Path
from unittest import mock

import pytest
from tests.support.served_copy import lay, served

from whimbrel.cli import serve_watch
from whimbrel.utilities.usage_error import UsageError


def test_directories_of_links_and_of_their_files(tmp_path: Path) -> None:
    """Debian's conf-enabled has links to conf-available: a change in either counts."""
    tree = lay(tmp_path, "IncludeOptional enabled/*.conf\n")
    for name in ("available", "enabled"):
        (tree / name).mkdir()
    (tree / "available/a.conf").write_text("ServerTokens Prod\n")
    (tree / "enabled/a.conf").symlink_to("../available/a.conf")
    with served(tree) as loader:
        found = serve_watch.watched(loader.load_to_serve())
    assert found.directories == tuple(str(tree / name) for name in ("available", "conf", "enabled"))


def test_directories_of_includes_without_a_file(tmp_path: Path) -> None:
    """A file may appear in an empty directory, in one that is made later, and below a wildcard."""
    tree = lay(
        tmp_path,
        "IncludeOptional empty/*.conf\nIncludeOptional none/d/*.conf\nIncludeOptional sites/*/conf/*.conf\n"
        "Include all\n",
    )
    for name in ("empty", "sites", "all"):
        (tree / name).mkdir()
    with served(tree) as loader:
        found = serve_watch.watched(loader.load_to_serve())
    names = ("all", "conf", "empty", "none/d", "sites")
    assert found.directories == tuple(str(tree / name) for name in names)
    assert found.existing() == {str(tree), *(str(tree / name) for name in names if name != "none/d")}
    assert found.is_concerned(f"{tree}/none") and found.is_concerned(f"{tree}/empty/a.conf")
    assert not found.is_concerned(f"{tree}/other") and not found.is_concerned(f"{tree}/nonesuch")


def test_logs_beside_the_configuration_are_no_change(tmp_path: Path) -> None:
    """Each restart writes into them, so it would cause the next one."""
    (tmp_path / "httpd.conf").write_text("x")
    files = serve_watch.Watched((str(tmp_path),), (f"{tmp_path}/error.log",))
    assert not files.is_concerned(f"{tmp_path}/error.log") and files.is_concerned(f"{tmp_path}/httpd.conf")
    now = time.time()
    before = files.entries()
    assert before == {f"{tmp_path}/httpd.conf"}
    assert files.has_changed(now - 1000, before) and not files.has_changed(now + 1000, before)
    (tmp_path / "error.log").write_text("x")
    assert not files.has_changed(now + 1000, before)
    (tmp_path / "httpd.conf").unlink()
    assert files.has_changed(now + 1000, before)


@pytest.mark.parametrize(
    ("line", "is_valid", "has_pid", "signals"),
    [
        ("ServerTokens Prod", True, True, 1),
        ("Foo", False, True, 0),
        ("ServerTokens Prod", True, False, 0),
    ],
)
def test_the_server_is_signalled_for_valid_texts(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    line: str,
    is_valid: bool,
    has_pid: bool,
    signals: int,
) -> None:
    """Before its PidFile exists the server does not handle the signal, which would end it."""
    pid_file = tmp_path / "pid"
    if has_pid:
        pid_file.write_text("4711\n")
    tree = lay(tmp_path / "copy", f"{line}\n")
    kill = mock.create_autospec(serve_watch.os.kill)
    with served(tree) as loader, mock.patch.object(serve_watch.os, "kill", kill):
        files = serve_watch.reload(loader, str(pid_file), 4711, serve_watch.Watched(("/d",)))
    assert ("/d" in files.directories) is not is_valid and str(tree / "conf") in files.directories
    assert kill.call_count == signals
    captured = capfd.readouterr()
    assert ("Invalid command 'Foo'" in captured.err) is not is_valid


def test_without_the_package_the_command_of_pip_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_watchfiles(name: str, *words: object) -> object:
        if name == "watchfiles":
            raise ImportError(name)
        return original(name, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_watchfiles)
    with pytest.raises(UsageError) as caught:
        serve_watch.require_watchfiles()
    assert "pip install 'whimbrel[watch]'" in caught.value.message
