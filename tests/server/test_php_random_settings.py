"""Random settings of PHP in each kind of section and in .htaccess files, read by a script on both servers."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.differential.php_pair import exchange, missing, start
from tests.differential.servers import APACHE, WHIMBREL

MISSING = missing() or ("" if shutil.which("php-cgi") else "php-cgi is not installed")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
DIRECTORIES = 60
ENVIRONMENT = {"SMUGGLED": "a'\nmemory_limit=9M\n;x", "VARIABLE": "v"}
LIST = "foreach (ini_get_all(null, true) as $name => $one) { $out[$name] = $one['access']; }"
# Those with an effect on the output of the script that shows them are in the rows of test_php_settings.
SHOW = """<?php $out = [];
foreach (ini_get_all(null, false) as $name => $value) { $out[$name] = ini_get($name); }
foreach (['precision', 'highlight.string', 'enable_dl'] as $name) {
    $out["set $name"] = @ini_set($name, '7');
}
$out['path'] = [$_SERVER['PATH_INFO'] ?? null, $_SERVER['SCRIPT_NAME'] ?? null, $_SERVER['PHP_SELF'] ?? null];
echo json_encode($out, JSON_INVALID_UTF8_SUBSTITUTE);
"""
# Settings of the FastCGI programs or of libphp alone, and those that docs/php-and-fastcgi.md lists.
OF_ONE_SIDE = (
    *("cgi.", "fastcgi.", "fpm.", "user_ini.", "engine", "last_modified", "xbithack", "expose_php"),
    *("disable_functions", "disable_classes"),
)
LEFT_OUT = ("session.name", "open_basedir", "auto_prepend_file", "auto_append_file", "memory_limit",
            "output_buffering", "output_handler", "engine", "xbithack", "zlib.output_compression",
            "error_log")  # fmt: skip
ADMIN = ("precision", "highlight.string", "enable_dl", "disable_functions", "expose_php")
NAMES = (
    *("unknown.name", "extension", "MEMORY_LIMIT", '"precision "', '"x[y]"', "cgi.nph"),
    "user_ini.filename",
)
VALUES = [
    *"none NONE ${VARIABLE} $VARIABLE E_ALL On off yes true null 1 0 -1 2G 64M .:/tmp !1".split(),
    *"99999999999999999999 3.7 a;b a=b [x] \xe9 M_PI PHP_VERSION | ~ ( ${VARIABLE}/y 0x10 010 1e3".split(),
    *('"${SMUGGLED}"', "'a b'", '"a b"', "c\\\\d", '"a \\\n  b"', '"a ; b"'),
    *('"\\"q\\""', "'it\\'s'"),
    "x" * 300,
]


class Site(NamedTuple):
    """Both servers' ports, and the settings of each directory."""

    apache: int
    whimbrel: int
    texts: dict[str, str]


def known_names() -> list[str]:
    """Return the names that PHP has."""
    program = f"<?php $out = []; {LIST} echo json_encode(array_keys($out));"
    done = subprocess.run(["php-cgi", "-q"], input=program, capture_output=True, check=True, text=True)
    found: list[str] = json.loads(done.stdout)
    return sorted(set(found) - set(LEFT_OUT))


def line(chance: random.Random, names: list[str], *, may_admin: bool) -> str:
    """Return one line of settings."""
    value = chance.choice(VALUES)
    if may_admin and chance.random() < 0.3:
        return f"php_admin_{chance.choice(('flag', 'value'))} {chance.choice(ADMIN)} {value}\n"
    name = chance.choice(NAMES) if chance.random() < 0.1 else chance.choice(names)
    return f"php_{'flag' if chance.random() < 0.25 else 'value'} {name} {value}\n"


def sections(chance: random.Random, names: list[str], where: Path) -> str:
    """Return sections with settings for the directory *where*."""
    out = ""
    kinds = (f"Directory {where}", f"Location /{where.name}", f"DirectoryMatch /{where.name}/")
    for kind in chance.sample(kinds, chance.choice((0, 1, 1, 2))):
        text = "".join(line(chance, names, may_admin=True) for _ in range(chance.choice((1, 2))))
        out += f"<{kind}>\n{text}</{kind.split()[0]}>\n"
    if chance.random() < 0.3:
        files = chance.choice(("show.php", "*.php", "none"))
        text = line(chance, names, may_admin=True)
        out += f"<Directory {where}>\n<Files {files}>\n{text}</Files>\n</Directory>\n"
    if chance.random() < 0.2:
        allowed = chance.choice(("None", "Options", "All"))
        out += f"<Directory {where}>\nAllowOverride {allowed}\n</Directory>\n"
    return out


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    chance, names = random.Random(34), known_names()
    texts = dict[str, str]()
    own_texts = dict[str, str]()
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base.chmod(0o755)
        root = base / "site/htdocs"
        for number in range(DIRECTORIES):
            where = root / f"d{number}"
            where.mkdir(parents=True)
            (where / "show.php").write_text(SHOW)
            own = "".join(line(chance, names, may_admin=False) for _ in range(chance.choice((0, 1, 3))))
            (where / ".htaccess").write_bytes(own.encode("latin-1"))
            texts[where.name] = sections(chance, names, where)
            own_texts[where.name] = own
        for number in range(3):
            text = "".join(line(chance, names, may_admin=True) for _ in range(2))
            texts[f"h{number}"] = (
                f"<VirtualHost *>\nServerName h{number}\nDocumentRoot {root}\n{text}</VirtualHost>\n"
            )
        server = "php_value user_agent main\nphp_admin_value precision 9\nphp_value highlight.string 'm v'\n"
        more = server + "".join(texts.values())
        apache, whimbrel = (start(stack, program, base, more, ENVIRONMENT) for program in (APACHE, WHIMBREL))
        yield Site(
            apache.port,
            whimbrel.port,
            {name: text + own_texts.get(name, "") for name, text in texts.items()},
        )


def values(port: int, target: str, host: str) -> tuple[bytes, dict[str, Any]]:
    """Return the status line and what the script shows, without what one program of PHP has alone."""
    head, body = exchange(port, target, host=host)
    start_of_json = body.find(b'{"allow_url_fopen"')
    shown: dict[str, Any] = json.loads(body[start_of_json:]) if start_of_json >= 0 else {}
    return head[0], {name: value for name, value in shown.items() if not name.startswith(OF_ONE_SIDE)}


@pytest.mark.parametrize(("host", "more"), [("localhost", ""), ("h0", "/p%20q/x"), ("h1", ""), ("h2", "/")])
def test_each_directory_has_the_settings_of_libphp(site: Site, host: str, more: str) -> None:
    for number in range(DIRECTORIES):
        name = f"d{number}"
        target = f"/{name}/show.php{more}"
        (their_status, theirs), (our_status, ours) = (
            values(port, target, host) for port in (site.apache, site.whimbrel)
        )
        assert their_status == our_status == b"HTTP/1.1 200 OK"
        assert len(theirs) > 100
        different = {one: (theirs.get(one), ours.get(one)) for one in {*theirs, *ours}}
        different = {one: both for one, both in different.items() if both[0] != both[1]}
        assert not different, site.texts[name] + site.texts.get(host, "")
