"""What module files were built for: Debian's own modules, and files put together by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.elf import elf

from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.files.shared_objects import ModuleRecord, examine, examine_directory, read_modules

DEBIAN = Path("/usr/lib/apache2/modules")


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize(
    ("major", "cookie", "api"),
    [
        (20051115, b"AP22", "2.2"),
        (20120211, b"AP24", "2.4"),
        (20020903, b"AP20", "2.0"),
        (20111111, b"AP24", ""),
    ],
)
def test_the_record_of_a_module(major: int, cookie: bytes, api: str, *, wide: bool, little: bool) -> None:
    found = read_modules(elf(major, cookie, wide=wide, little=little))
    assert found == (ModuleRecord("my_module", major, 41, cookie.decode()),)
    assert found[0].api == api


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF" + bytes(8), elf(20051115, b"AP22")[:200]])
def test_what_is_no_shared_object(data: bytes) -> None:
    with pytest.raises(ValueError, match="shared object|truncated"):
        read_modules(data)


def test_objects_without_cookie_are_no_modules() -> None:
    assert read_modules(elf(20051115, b"XXXX")) == ()


def test_every_cut_of_a_file_is_told_or_read() -> None:
    whole = elf(20051115, b"AP22")
    for size in range(len(whole)):
        try:
            assert read_modules(whole[:size]) in ((), read_modules(whole))
        except ValueError:
            continue


def test_verdicts(tmp_path: Path) -> None:
    (tmp_path / "mod_old.so").write_bytes(elf(20051115, b"AP22"))
    (tmp_path / "libz.so").write_bytes(elf(1, b"XXXX"))
    (tmp_path / "text.so").write_bytes(b"text")
    found = {
        Path(one.path).name: (one.api, one.text) for one in examine_directory(from_system(str(tmp_path)))
    }
    assert found == {
        "mod_old.so": ("2.2", "built for 2.2 (API 20051115:41, AP22)"),
        "libz.so": ("", "no module of httpd"),
        "text.so": ("", "no shared object (ELF)"),
    }
    assert "cannot be read" in examine(from_system(str(tmp_path / "none.so"))).text


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="no modules of Debian's apache2 here")
def test_modules_of_debian() -> None:
    found = examine_directory(str(DEBIAN))
    assert len(found) > 50
    assert {one.api for one in found} == {"2.4"}
    names = {Path(one.path).stem.removeprefix("mod_"): one.modules[0].symbol for one in found}
    assert names["rewrite"] == "rewrite_module"
