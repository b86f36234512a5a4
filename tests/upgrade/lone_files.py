"""Lone .htaccess files and fragments on apache2 without mod_access_compat: what it refuses after an upgrade.

Lines that apache2 refuses for a reason of this machine (files, users and modules that it does not have) are
taken out one by one.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.httpd_check import (
    APACHE,
    BUILT_IN,
    LINE,
    MODULES,
    UNKNOWN,
    comment_out_culprit,
    is_of_this_machine,
)
from tests.upgrade.apache_process import Apache
from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, is_htaccess, read_config_tree

STEPS = 100
NOT_LOADED = re.compile(r"mpm_|access_compat|php|md$|heart|http2")
"""Modules that the target does not load: mod_access_compat, and those that need a server of their own."""
FEW = (
    "mpm_prefork alias auth_basic authn_core authn_file authz_core authz_groupfile authz_host authz_user dir "
    "env expires headers mime proxy rewrite setenvif"
).split()
"""Modules that the generated files need: a server with all of them takes three times as long to start."""
ALERT = re.compile(r"\[core:alert\].*?(?:AH\d+: )?(/\S+/h(\d+)/\.htaccess): (.*)")


@dataclass(frozen=True)
class Lone:
    """A file before and after its upgrade.

    Attributes:
        name: its file name, which decides whether it is a .htaccess file.
        new: its text after the upgrade.
        marked: the findings that a reader has to look at.
    """

    name: str
    new: bytes
    marked: tuple[Finding, ...]

    @property
    def is_htaccess(self) -> bool:
        return is_htaccess(self.name)


def upgraded(path: Path, options: UpgradeOptions | None = None) -> Lone:
    """Upgrade the file without its server."""
    tree = read_config_tree(Sources(fragments=(from_system(str(path)),)), options or UpgradeOptions())
    result = upgrade(tree)
    add_load_errors(result, None)
    new = result.files.get(from_system(str(path)), path.read_bytes())
    return Lone(path.name, new, tuple(result.needs_review))


def modules() -> list[str]:
    """Return the names of the modules that the target loads."""
    names = [path.stem.removeprefix("mod_") for path in sorted(MODULES.glob("mod_*.so"))]
    first = [
        name
        for name in ("mpm_prefork", "proxy", "session", "cache", "dav", "ldap", "dbd", "xml2enc")
        if name in names
    ]
    return first + [name for name in names if not NOT_LOADED.search(name) and name not in first]


def refusals(
    lones: Iterable[Lone], where: Path, names: Sequence[str] | None = None
) -> Iterator[tuple[Lone, str]]:
    """Yield the files that apache2, with the modules *names* (default: all), refuses, each with apache2's
    message."""
    names = modules() if names is None else names
    every = list(lones)
    yield from _refused_htaccess([lone for lone in every if lone.is_htaccess], where / "htaccess", names)
    for number, lone in enumerate(lone for lone in every if not lone.is_htaccess):
        message = _refused_fragment(lone, where / f"f{number}", names)
        if message:
            yield lone, message


def _refused_htaccess(lones: list[Lone], where: Path, names: Sequence[str]) -> Iterator[tuple[Lone, str]]:
    """Yield what one server answers with 500; each .htaccess file has a directory of its own."""
    (where / "conf").mkdir(parents=True)
    (where / "htdocs").mkdir()
    (where / "conf" / "mime.types").touch()
    (where / "conf" / "httpd.conf").write_text(
        f'TypesConfig conf/mime.types\nDocumentRoot "{where}/htdocs"\n<Directory "{where}/htdocs">\n'
        "  AllowOverride All\n  Options All\n</Directory>\n"
    )
    for number, lone in enumerate(lones):
        directory = where / "htdocs" / f"h{number}"
        directory.mkdir(parents=True)
        (directory / ".htaccess").write_bytes(lone.new)
    waiting = list(range(len(lones)))
    with Apache(where, (), names) as server:
        for _ in range(STEPS):
            if not waiting:
                return
            log = server.directory / "error_log"
            before = log.stat().st_size
            server.statuses([(f"/h{number}/", "127.0.0.1", None) for number in waiting])
            messages = {
                int(number): (path, text)
                for path, number, text in ALERT.findall(log.read_bytes()[before:].decode("utf-8", "replace"))
            }
            waiting = []
            for number, (path, text) in messages.items():
                if _without_foreign_line(Path(path), text):
                    waiting.append(number)
                else:
                    yield lones[number], text
    assert not waiting, f"files of which {STEPS} lines were taken out: {waiting}"


def _without_foreign_line(path: Path, text: str) -> bool:
    """Take out the lines of the directive that apache2 does not know; return False if it is httpd's own."""
    unknown = UNKNOWN.search(text)
    if unknown is None or not is_of_this_machine(text, b""):
        return False
    old = path.read_bytes()
    path.write_bytes(re.sub(rb"(?im)^([ \t]*)(?=" + re.escape(unknown[1].encode()) + rb"\b)", rb"\1#", old))
    return path.read_bytes() != old


def _refused_fragment(lone: Lone, where: Path, names: Sequence[str]) -> str:
    """Return apache2's message about the file, included by an empty server; "" if it is accepted."""
    where.mkdir(parents=True)
    fragment = where / "fragment.conf"
    fragment.write_bytes(BUILT_IN.sub(b"#", lone.new))
    main = where / "main-of-the-test.conf"
    main.write_text(
        "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in names)
        + f"ServerName localhost\nListen 127.0.0.1:1\nErrorLog {where}/error_log\nUser daemon\nGroup daemon\n"
        + f"DefaultRuntimeDir {where}\nInclude {fragment}\n"
    )
    for _ in range(STEPS):
        done = subprocess.run(
            [str(APACHE), "-d", str(where), "-f", str(main), "-t"],
            capture_output=True,
            cwd=where,
            timeout=60,
            check=False,
        )
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        if done.returncode == 0:
            return ""
        found = LINE.findall(text)
        if not found:
            return ""  # all lines were read; what follows is about this machine
        line = Path(found[-1][1]).read_bytes().split(b"\n")[int(found[-1][0]) - 1]
        if not is_of_this_machine(text, line) or not comment_out_culprit(text, where):
            return text
    return ""


# generated files ------------------------------------------------------------------------------------
_LISTS = (
    "Order allow,deny\nAllow from all",
    "Order deny,allow\nDeny from all\nAllow from 10.0.0.0/8 .example.test",
    "order Allow,Deny\nallow from env=known",
    "Deny from 192.0.2.7",
    "Satisfy Any",
)
_BASIC = 'AuthType Basic\nAuthName "area"\nAuthUserFile /etc/users'
_OTHERS = (
    "Options -Indexes",
    "DirectoryIndex index.html",
    "AddType text/x-log .log",
    "RewriteEngine On\nRewriteRule ^old$ /new [R=301,L]",
    "Require valid-user",
    f"{_BASIC}\nRequire user ann",
    "ErrorDocument 404 /missing.html",
    "DefaultType text/plain",
    "Header set X-A b",
    "ExpiresActive On",
    "SetEnvIf User-Agent ^known known",
)
_WRAPPERS = (
    ('<Files ~ "\\.inc$">', "</Files>"),
    ('<FilesMatch "\\.(log|bak)$">', "</FilesMatch>"),
    ("<Limit GET POST>", "</Limit>"),
    ("<LimitExcept GET>", "</LimitExcept>"),
    ("<IfModule mod_authz_host.c>", "</IfModule>"),
    ("<IfModule mod_access_compat.c>", "</IfModule>"),
    ("<IfModule !mod_authz_core.c>", "</IfModule>"),
    ("<IfDefine SECRET>", "</IfDefine>"),
    ("<IfVersion < 2.4>", "</IfVersion>"),
)
_SECTIONS = (
    ("<Directory /srv/www>", "</Directory>"),
    ("<Location /a>", "</Location>"),
    ("<VirtualHost *:80>\n<Directory />", "</Directory>\n</VirtualHost>"),
    ("<Proxy *>", "</Proxy>"),
)
_REFUSED = (
    "RequireAny",
    "Require unknown-word",
    "Require all",
    "<RequireNone>\nRequire ip 10\n</RequireNone>",
    "Order allow, deny",
    "ServerTokens Maximal",
    "AllowOverride Everything",
    "ExpiresActive maybe",
)
"""Lines that 2.4 refuses although no rule is about them."""


def generated(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield names and texts of lone files of both kinds."""
    choice = random.Random(seed)
    for number in range(count):
        blocks = [_block(choice) for _ in range(choice.randint(1, 4))]
        if choice.random() < 0.1:
            blocks.insert(choice.randrange(len(blocks) + 1), choice.choice(_REFUSED))
        if number % 2:
            yield ".htaccess", "\n".join(blocks) + "\n"
            continue
        opening, closing = choice.choice(_SECTIONS)
        bare = [choice.choice(_LISTS)] if choice.random() < 0.1 else []
        yield f"f{number}.conf", "\n".join([opening, *blocks, closing, *bare]) + "\n"


def _block(choice: random.Random) -> str:
    text = choice.choice(_LISTS if choice.random() < 0.6 else _OTHERS)
    for _ in range(choice.choice((0, 0, 1, 2))):
        opening, closing = choice.choice(_WRAPPERS)
        text = f"{opening}\n{text}\n{closing}"
    return text
