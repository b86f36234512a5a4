"""C48: the hashes in password files. Document: documents/C48-password-hashes.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.execute import root_relative
from whimbrel.upgrade.files.password_file import examine
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the findings of every existing file of an AuthUserFile."""
    seen: set[str] = set()
    options = (word.lower().lstrip("+") for line in tree.named("ssloptions") for word in line.words())
    has_certificates = "fakebasicauth" in options
    for line in tree.named("authuserfile"):
        path = tree.disk.openable(root_relative(tree.text_root or "/", "".join(line.words()[:1])))
        if path in seen:
            continue
        seen.add(path)
        try:
            source = to_text(read_regular(to_bytes(path)))
        except OSError:
            continue
        yield from examine(source, path, has_certificates=has_certificates)


RULE = Rule("C48", "password-hashes", "htpasswd makes MD5 by default", check)
