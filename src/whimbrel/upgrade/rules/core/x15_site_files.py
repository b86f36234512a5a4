"""X15: Debian's tools and configuration for 2.4 read only site files that end in .conf.

Document: documents/X15-site-files.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

SITES: Final = re.compile(r"/sites-(?:enabled|available)/[^/]+\Z")

_DEBIAN: Final = (
    "Debian's own apache2.conf of 2.4 reads conf-enabled/*.conf and sites-enabled/*.conf, "
    "neither conf.d nor httpd.conf"
)
_OF_SERVER: Final = (
    f"this text reads the file, and 2.4 reads it too; {_DEBIAN}",
    "do nothing while this apache2.conf stays; before Debian's takes its place, rename the files as "
    "`whimbrel explain X15` shows",
)
_LONE: Final = (
    f"no main file was read, so what includes the file is not known; {_DEBIAN}",
    "rename the file as `whimbrel explain X15` shows before Debian's apache2.conf reads the site",
)
"""Message and advice: about a file of a server that was read, and about a file alone."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every included site file with another name."""
    for path, file in tree.files.items():
        if (
            SITES.search(path)
            and not path.endswith((".conf", "~", ".dpkg-old", ".dpkg-dist", ".bak"))
            and file.role is not Role.HTACCESS
        ):
            is_lone = file.role is Role.FRAGMENT
            message, advice = _LONE if is_lone else _OF_SERVER
            yield Finding("X15", SourceLocation(path, 1), message, advice, Risk.COSMETIC)


RULE = Rule("X15", "site-files", "Debian: site files end in .conf", check)
