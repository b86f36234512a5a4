"""A real httpd beside the comparison: its process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import load_side
from whimbrel.verify.real_server import compare_with_httpd
from whimbrel.verify.verification import VerifyResult

TEXT = "LoadModule mpm_event_module m/mod_mpm_event.so\nListen 8080\nServerName a.example\n"
PROGRAM = f"""#!{sys.executable}
import os, sys
if "-l" not in sys.argv:
    open(os.path.join(os.path.dirname(__file__), "group"), "w").write(str(os.getpgrp()))
    sys.exit(1)
"""


def test_httpd_has_a_process_group_of_its_own(tmp_path: Path) -> None:
    """httpd signals its process group when it stops, which must not end the caller."""
    laid(tmp_path, {"httpd.conf": TEXT, "htdocs/a": "", "httpd": PROGRAM})
    (tmp_path / "httpd").chmod(0o755)
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.4")
    compare_with_httpd(str(tmp_path / "httpd"), side, VerifyResult(("old", "new")))
    assert int((tmp_path / "group").read_text()) != os.getpgrp()
