"""Verification of a planned upgrade on a machine that lacks what the configuration names."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.upgraded import verify_upgrade

TEXT = """# see /usr/share/doc/apache2.2-common
Listen 8080
ServerName a.example
LoadModule authz_host_module /usr/lib/apache2/modules/mod_authz_host.so
LoadModule suphp_module /usr/lib/apache2/modules/mod_suphp.so
LogFormat "%h" x
<Directory />
Order allow,deny
Deny from all
</Directory>
"""


def test_a_tree_with_a_library_that_is_elsewhere_is_verified(tmp_path: Path) -> None:
    laid(tmp_path, {"apache2.conf": TEXT, "htdocs/index.html": "x"})
    options = LoadOptions(server_root=str(tmp_path), file="apache2.conf")
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    assert result.files
    sentence = verify_upgrade(result, options)
    assert sentence.startswith("verified with "), sentence
    assert "mod_suphp.so" in sentence
