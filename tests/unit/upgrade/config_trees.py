"""Small configuration trees on disk for tests."""

from __future__ import annotations

from pathlib import Path

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.reading import Sources, read_config_tree


def laid(root: Path, files: dict[str, str | bytes]) -> Path:
    """*files* below *root*; ``ROOT`` in texts stands for it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            text if isinstance(text, bytes) else text.replace("ROOT", str(root)).encode("latin-1")
        )
    return root


def config_tree(
    root: Path,
    files: dict[str, str | bytes],
    *,
    options: UpgradeOptions | None = None,
    defines: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> ConfigTree:
    """*files* read as a configuration, conf/httpd.conf first."""
    laid(root, files)
    load_options = LoadOptions(
        server_root=from_system(str(root)), defines=defines, environment=environment or {}
    )
    return read_config_tree(Sources(options=load_options), options or UpgradeOptions())


def fragments(root: Path, files: dict[str, str | bytes], options: UpgradeOptions | None = None) -> ConfigTree:
    """*files* read each alone."""
    laid(root, files)
    return read_config_tree(
        Sources(fragments=tuple(from_system(str(root / name)) for name in files)),
        options or UpgradeOptions(),
    )


def lives(found: ConfigTree) -> dict[str, tuple[bool | None, bool | None]]:
    """What 2.2 and 2.4 execute, by the name of each statement."""
    return {statement.name: (statement.in_22, statement.in_24) for statement in found.all_statements()}


def reasons(found: ConfigTree) -> list[str]:
    return [item.subject for item in found.unread]
