"""Configurations about access, upgraded by the rules about access alone."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules import rules_of

NAMES = ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
MODULES = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in NAMES)
USER = 'AuthType Basic\nAuthName "x"\nAuthUserFile conf/users\n'


def text_after(root: Path, conf: str, options: UpgradeOptions | None = None) -> str:
    """The configuration after an upgrade by the rules about access alone, the module lines left out."""
    result = upgrade(
        config_tree(root, {"conf/httpd.conf": MODULES + conf}, options=options), rules_of("access")
    )
    data = next(iter(result.files.values()), to_bytes(MODULES + conf))
    return data.decode("latin-1").removeprefix(MODULES)


def marks(root: Path, conf: str, files: dict[str, str | bytes] | None = None) -> tuple[set[str], list[str]]:
    """The files that change, and the messages that need review."""
    result = upgrade(
        config_tree(root, {"conf/httpd.conf": MODULES + conf, **(files or {})}), rules_of("access")
    )
    return set(result.files), [finding.message for finding in result.needs_review if finding.rule != "READ"]
