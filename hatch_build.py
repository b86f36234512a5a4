"""Build hook of the distributions: the long description is README.md with absolute links.

A link of README.md is relative to the repository; a package index shows the text without it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def absolute_links(text: str, repository: str, revision: str) -> str:
    """Return *text* with relative links led to *repository* at *revision*, pictures to their raw files."""

    def replace(link: re.Match[str]) -> str:
        view = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({repository}/{view}/{revision}/{link[3]})"

    return _LINK.sub(replace, text)


class ReadmeHook(MetadataHookInterface):
    """Sets the dynamic field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the version that is built; its tag is the revision of the links."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = (Path(self.root) / "src/whimbrel/__init__.py").read_text(encoding="utf-8")
        version = re.search(r'^__version__ = "([^"]+)"', source, re.M)
        assert version is not None
        repository = metadata["urls"]["Repository"]
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, repository, f"v{version[1]}"),
        }
