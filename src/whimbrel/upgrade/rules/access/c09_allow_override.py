"""C09: without any AllowOverride 2.2 admits everything in .htaccess files; 2.4 refuses it.

Document: documents/C09-allow-override.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.unset_override import UnsetOverride, unset_override
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for the outermost directory without any AllowOverride."""
    unset = unset_override(tree)
    if unset is not None:
        yield Finding(
            "C09",
            unset.place,
            (
                f"no AllowOverride applies {_extent(unset)}: 2.2 admits every directive in them, "
                "2.4 answers 500 to any"
            ),
            "write AllowOverride All, the default of 2.2",
            Risk.CLOSES,
            Safety.SAFE,
            (unset.edit,),
            decision="May .htaccess files contain every directive, as in 2.2?",
            answers=(
                "yes: upgrade writes AllowOverride All, and clients see no change",
                f"no: write the AllowOverride that is meant in <Directory {unset.file.directory}>"
                f"{' of that virtual host' if unset.host is not None else ''}",
            ),
        )


def _extent(unset: UnsetOverride) -> str:
    """Return the .htaccess files that are meant, with the virtual host if another one admits them."""
    if unset.host is None:
        return "to .htaccess files here"
    place = unset.host.place
    directory = unset.file.directory
    return f"to .htaccess files of {directory} in the virtual host at {place.path}:{place.line}"


RULE = Rule("C09", "allow-override", "AllowOverride is None unless set", check)
