"""C36: LDAPTrustedClientCert is a setting of directories.

Document: documents/C36-ldap-client-certificate.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import replace_guarded
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import has_server_context, scope_of, server_of


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line in a server or virtual host; those of one server are moved into one section."""
    lines = [line for line in tree.named("ldaptrustedclientcert") if has_server_context(line)]
    for line in lines:
        wanted = ["<Location />", f"    {line.node.name} {line.args.strip()}", "</Location>"]
        yield Finding(
            "C36",
            line.place,
            ("LDAPTrustedClientCert is not allowed in server context any more: 2.4 does not start with it"),
            "write it in the sections that use LDAP, or in <Location /> for all",
            Risk.BREAKS,
            Safety.REVIEW,
            replace_guarded(tree, line, wanted),
        )
    for line in tree.named("ldaptrustedclientcert"):
        if (
            scope_of(line) is None
            and server_of(line) is None
            and line not in lines
            and not line.file.directory
        ):
            yield Finding(
                "C36",
                line.place,
                "LDAPTrustedClientCert is allowed in sections only",
                "write it in a section",
                Risk.BREAKS,
            )


RULE = Rule("C36", "ldap-client-certificate", "LDAPTrustedClientCert is a setting of directories", check)
