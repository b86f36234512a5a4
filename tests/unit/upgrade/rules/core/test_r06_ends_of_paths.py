"""A $ in the pattern of a directory section: 2.2 matches it nowhere, 2.4 at the end of a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Safety

MAIN = "LoadModule authz_host_module modules/mod_authz_host.so\nListen 80\nDocumentRoot /srv\n"


@pytest.mark.parametrize(
    ("opening", "written", "safety"),
    [
        ('<DirectoryMatch "/private$">', '<DirectoryMatch "/private(?!)">', Safety.REVIEW),
        ('<Directory ~ "/private$">', '<Directory ~ "/private(?!)">', Safety.REVIEW),
        ('<Directory ~ "/(a$|b)">', '<Directory ~ "/(a(?!)|b)">', Safety.SAFE),
        ('<DirectoryMatch "/private">', '<DirectoryMatch "/private">', None),
        ('<Directory ~ "/private">', '<Directory ~ "/private">', None),
        ('<DirectoryMatch "/private\\$">', '<DirectoryMatch "/private\\$">', None),
        ('<Directory "/srv/a$">', '<Directory "/srv/a$">', None),  # a path and no expression
    ],
)
def test_the_end_is_written_as_22_matches_it(
    tmp_path: Path, opening: str, written: str, safety: Safety | None
) -> None:
    """A person agrees that a section that never applied stays without effect; one of many branches
    is sure.
    """
    name = opening[1:].split()[0]
    text = f"{MAIN}{opening}\nOptions None\n</{name}>\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    found = [finding.safety for finding in result.findings if finding.rule == "R06"]
    assert found == ([safety] if safety is not None else [])
    (data,) = result.files.values()
    assert written in data.decode()
