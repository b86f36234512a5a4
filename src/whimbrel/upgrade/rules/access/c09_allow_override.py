"""C09: without any AllowOverride 2.2 admits everything in .htaccess files; 2.4 refuses it.

Document: documents/C09-allow-override.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.unset_override import unset_override_edits
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for the outermost directory without any AllowOverride."""
    for place, edit in unset_override_edits(tree):
        yield Finding(
            "C09",
            place,
            (
                "no AllowOverride applies to .htaccess files here: 2.2 admits every directive in "
                "them, 2.4 answers 500 to any"
            ),
            "write AllowOverride All, the default of 2.2",
            Risk.CLOSES,
            Safety.SAFE,
            (edit,),
            decision="May .htaccess files contain every directive, as in 2.2?",
            answers=("yes: upgrade writes AllowOverride All", "no: write the AllowOverride that is meant"),
        )


RULE = Rule("C09", "allow-override", "AllowOverride is None unless set", check)
