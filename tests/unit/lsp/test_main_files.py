"""The server that a file belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from whimbrel.config.servers import FoundServer, server_at
from whimbrel.lsp import main_files
from whimbrel.lsp.main_files import MAX_LEVELS, MainFiles, Unit, sources_of
from whimbrel.utilities.usage_error import UsageError


def server(directory: Path) -> str:
    """Write a main file below *directory*; return its path."""
    main = directory / "conf/httpd.conf"
    main.parent.mkdir(parents=True)
    main.write_text(f'ServerRoot "{directory}"\nListen 80\n')
    return str(main)


def test_the_nearest_server_at_or_above_a_file_is_found(tmp_path: Path) -> None:
    main = server(tmp_path / "one")
    finder = MainFiles()
    finder.configure("", [str(tmp_path)])
    below = f"{tmp_path}/one/conf/vhosts/deep/er/still/a.conf"
    assert finder.unit_of(below) == Unit(main, True)
    assert finder.unit_of(main) == Unit(main, True)
    beside = f"{tmp_path}/two/a.conf"
    assert finder.unit_of(beside) == Unit(beside, False)


def test_without_a_folder_the_search_has_a_bound(tmp_path: Path) -> None:
    main = server(tmp_path)
    near = f"{tmp_path}/conf/{'d/' * (MAX_LEVELS - 2)}a.conf"
    far = f"{tmp_path}/conf/{'d/' * MAX_LEVELS}a.conf"
    assert MainFiles().unit_of(near) == Unit(main, True)
    assert MainFiles().unit_of(far) == Unit(far, False)


def test_the_setting_decides_and_is_relative_to_the_first_folder(tmp_path: Path) -> None:
    main = server(tmp_path / "other")
    finder = MainFiles()
    finder.configure("other/conf/httpd.conf", [str(tmp_path)])
    assert finder.unit_of("/anywhere/a.conf") == Unit(main, True)


def test_a_new_server_is_found_after_forgetting(tmp_path: Path) -> None:
    finder = MainFiles()
    finder.configure("", [str(tmp_path)])
    path = f"{tmp_path}/x/conf/a.conf"
    assert not finder.unit_of(path).is_server
    server(tmp_path / "x")
    assert not finder.unit_of(path).is_server
    finder.forget()
    assert finder.unit_of(path).is_server


def test_the_disk_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.conf").write_text("Timeout 3\n")
    looked = []

    def counted(path: str, *, as_server: bool = False) -> FoundServer | None:
        looked.append(path)
        return server_at(path, as_server=as_server)

    monkeypatch.setattr(main_files, "server_at", counted)
    finder = MainFiles()
    finder.configure("", [str(tmp_path)])
    for _ in range(3):
        finder.unit_of(f"{tmp_path}/a.conf")
    assert looked == [f"{tmp_path}/a.conf", str(tmp_path)]


def test_a_path_of_zero_bytes_has_no_server() -> None:
    assert not MainFiles().unit_of("/a\0b/c.conf").is_server


def test_open_documents_replace_files(tmp_path: Path) -> None:
    main = server(tmp_path)
    options = sources_of(Unit(main, True), {main: b"Listen 81\n"}).options
    assert options is not None and options.overlay[main] == b"Listen 81\n"
    assert sources_of(Unit("/x/a.conf", False), {}).fragments == ("/x/a.conf",)
    Path(main).unlink()
    with pytest.raises(UsageError):
        sources_of(Unit(main, True), {})
