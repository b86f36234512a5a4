"""C48: what is in password files.  Document: documents/C48-password-hashes.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.octets import raw, text
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Rule
from whimbrel.upgrade.password_file import examine


def check(estate: Estate) -> Iterator[Finding]:
    """Every file that AuthUserFile names and that is here."""
    seen: set[str] = set()
    for line in estate.named("authuserfile"):
        path = root_relative(estate.root or "/", "".join(line.words()[:1]))
        if path in seen:
            continue
        seen.add(path)
        try:
            with open(raw(path), "rb") as file:
                source = text(file.read())
        except OSError:
            continue
        yield from examine(source, path)


RULE = Rule("C48", "password-hashes", "htpasswd makes MD5 by default", check)
