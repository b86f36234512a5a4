"""R05: certificate authorities belong to servers, not to directories.

Document: documents/R05-authorities-of-directories.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role
from whimbrel.upgrade.source.htaccess import accepts_directive
from whimbrel.upgrade.source.queries import has_server_context, scope_of


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield SSLCACertificateFile and SSLCACertificatePath in sections and .htaccess files."""
    for line in tree.named("sslcacertificatefile", "sslcacertificatepath"):
        is_top_level = scope_of(line) is None and line.file.role is not Role.HTACCESS
        if is_top_level or has_server_context(line) or not accepts_directive(tree, line, "authconfig"):
            continue
        yield Finding(
            "R05",
            line.place,
            f"2.4 {line.file.refusal}: its TLS library does not support {line.node.name} for a directory",
            (
                "move the line to the server or virtual host; Require expr %{SSL_CLIENT_I_DN} "
                "requires one authority in a directory"
            ),
            Risk.BREAKS,
        )


RULE = Rule("R05", "authorities-of-directories", "Certificate authorities belong to servers", check)
