"""C11: the ETag of a file contains no inode by default. Document: documents/C11-file-etag.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import insert_for_server
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, is_in_main_server
from whimbrel.upgrade.source.suppressions import decided_line

WORDS = "INode MTime Size"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for a server without FileETag; .htaccess files and fragments inherit it from the
    server."""
    if is_24_config(tree) or any(map(is_in_main_server, tree.named("fileetag"))):
        return
    inserted = insert_for_server(tree, [f"FileETag {WORDS}"])
    if inserted is not None:
        beside, edit = inserted
        line = decided_line(tree, "C11") or beside
        yield Finding(
            "C11",
            line.place,
            (
                "no FileETag is set for the whole server, and this line is the place for it: 2.4 leaves the "
                "inode out of the ETag of a file, and every cache revalidates once"
            ),
            (
                f"write FileETag {WORDS}, the default of 2.2; servers that share their files work "
                "better without it"
            ),
            Risk.CHANGES,
            Safety.SAFE,
            (edit,),
            decision="Do ETags need the inode, as in 2.2, which reveals it?",
            answers=(
                f"yes: upgrade writes FileETag {WORDS}, and clients see no change",
                "no: # whimbrel: ignore[C11] above the line keeps the text as it is: every cache revalidates "
                "once",
                "no: write FileETag MTime Size, the default of 2.4, with # whimbrel: ignore[DIFF] above it: "
                "every cache revalidates once",
            ),
        )


RULE = Rule("C11", "file-etag", "FileETag is MTime Size unless set", check)
