"""Files beside a configuration that its server reads: types, users, certificates, maps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.execute import root_relative
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

_COPIED: Final = frozenset(
    "typesconfig mimemagicfile authuserfile authgroupfile authdigestfile authdigestgroupfile"
    " authdbmuserfile authdbmgroupfile".split()
)
_LINKED: Final = frozenset(
    "sslcertificatefile sslcertificatekeyfile sslcertificatechainfile sslcacertificatefile"
    " sslcacertificatepath sslcarevocationfile sslcarevocationpath sslcadnrequestfile sslcadnrequestpath"
    " sslproxycacertificatefile sslproxycacertificatepath sslproxycarevocationfile"
    " sslproxycarevocationpath sslproxymachinecertificatefile sslproxymachinecertificatepath"
    " sslproxymachinecertificatechainfile".split()
)
"""Directives of keys and certificates, which are linked: a copy of a key would be a second secret."""
READING: Final = _COPIED | _LINKED | {"rewritemap"}
"""Directives that name such files."""
_DATA_FILES: Final = re.compile(r"(?i)@(?:pmf|pmfromfile|ipmatchf|ipmatchfromfile)\s+([^\"]+)")
_BY_DEFAULT: Final = ("envvars", "magic", "mime.types", "conf/magic", "conf/mime.types", "bin/envvars")
"""Files that a server reads without a line."""
_MAP_KINDS: Final = frozenset(("txt", "rnd", "dbm"))
_ENDINGS: Final = ("", ".db", ".pag", ".dir", ".dat", ".mdb")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """One file that exists here, by its absolute path; *is_linked*: see `_LINKED`."""

    path: str
    is_linked: bool = False


def named_files(tree: ConfigTree) -> list[NamedFile]:
    """Return the files below the ServerRoot, or in the image, that lines of *tree* name, and those of every
    server, each once."""
    found: dict[str, NamedFile] = {}
    for file in _all(tree):
        if file.path not in tree.files:
            found.setdefault(file.path, file)
    return list(found.values())


def _all(tree: ConfigTree) -> Iterator[NamedFile]:
    root = tree.root.rstrip("/")
    if not root:
        return
    top = tree.disk.image or root
    for name in _BY_DEFAULT:
        yield from _existing(f"{root}/{name}", is_linked=False)
    for line in tree.all_statements():
        words = line.words() if line.name in _COPIED or line.name in _LINKED else []
        if line.name == "rewritemap":
            words = line.words()
            kind, colon, path = words[1].partition(":") if len(words) > 1 else ("", "", "")
            words = [path] if colon and kind.partition("=")[0].lower() in _MAP_KINDS else []
        if line.name == "secrule":
            yield from _data_files(line, top)
        elif words and words[0]:
            path = tree.disk.openable(root_relative(tree.text_root, words[0]))
            if path.startswith(f"{top}/"):
                yield from _existing(path, is_linked=line.name in _LINKED)


def _data_files(line: Statement, root: str) -> Iterator[NamedFile]:
    """Yield the files of phrases and addresses that a rule of ModSecurity reads, beside its own file."""
    for names in _DATA_FILES.findall(line.args):
        for name in names.split():
            path = root_relative(os.path.dirname(line.place.path), name)
            if path.startswith(f"{root}/"):
                yield from _existing(path, is_linked=False)


def _existing(path: str, *, is_linked: bool) -> Iterator[NamedFile]:
    """Yield the file, and those of a database that add an ending to its name."""
    for ending in _ENDINGS:
        name = to_bytes(path + ending)
        if os.path.isfile(name) or (is_linked and os.path.isdir(name)):
            yield NamedFile(to_text(name), is_linked)
