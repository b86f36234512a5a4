"""Images of machines are servers of a fleet."""

from __future__ import annotations

from pathlib import Path

from tests.support.machine_image import run, write_image


def test_images_are_checked_and_compared(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_image(tmp_path / "fleet" / name)
    write_image(tmp_path / "fleet/three", "Redirect /a http://www.example.org/b\n")
    _, output = run("check", "--fleet", tmp_path / "fleet", "--jobs", "1", "--color", "never")
    assert "3 servers" in output and "not read" not in output
    out = tmp_path / "out"
    run("upgrade", "--fleet", tmp_path / "fleet", "--out", out, "--jobs", "1", "--color", "never")
    for name in ("one", "three"):
        assert "Require" in (out / name / "srv/shop/closed/.htaccess").read_text()
    _, output = run("verify", "--fleet", tmp_path / "fleet", out, "--jobs", "1", "--color", "never")
    assert "not here" not in output and "gains" not in output.replace("nobody gains", "")
