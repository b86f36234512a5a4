"""Hosts of VirtualDocumentRoot: each part of the name that the format uses leads to a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

MODULES = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n"
    for name in ("mpm_event", "authz_core", "unixd", "vhost_alias")
)


@pytest.mark.parametrize("pattern", ["%1", "%-1", "%2", "%0", "%2+", "%1/pages"])
def test_a_line_about_files_of_a_mass_host_is_found(tmp_path: Path, pattern: str) -> None:
    for name in ("htdocs", "logs", "hosts/birds/pages", "hosts/birds.birds/pages"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("hosts/birds/pages/x.txt", "hosts/birds/x.txt", "hosts/birds.birds/x.txt"):
        (tmp_path / name).write_text("x")
    options = []
    for name, line in (("old", "FileETag MTime Size"), ("new", "FileETag None")):
        text = f"{MODULES}Listen 8080\nServerName x\nVirtualDocumentRoot {tmp_path}/hosts/{pattern}\n{line}\n"
        (tmp_path / f"{name}.conf").write_text(text)
        options.append(LoadOptions(server_root=str(tmp_path), file=f"{name}.conf"))
    result = verify(*load_sides((options[0], options[1]), ("2.4", "2.4"), ("old", "new")), limit=100)
    assert result.verdict is Verdict.DIFFERENT, (result.errors, result.probes)
