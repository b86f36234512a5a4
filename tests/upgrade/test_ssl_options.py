"""Programs see the same variables of TLS, in the format of 2.2, under apache2 after the upgrade.

What 2.2 gives is its mod_ssl's rule: a word of SSLOptions without a sign removes all before it, as in 2.4.
The format of names is all that differs, so apache2 on the old text says which variables are set.
"""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.corpus.httpd_check import needs_apache
from tests.upgrade.apache_process import Apache
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

pytestmark = [
    needs_apache,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]
MODULES = ("mpm_prefork", "authz_core", "ssl", "headers")
WORDS = (
    "StdEnvVars",
    "StrictRequire StdEnvVars",
    "StdEnvVars StrictRequire",
    "StdEnvVars +StrictRequire",
    "+StdEnvVars",
    "+StdEnvVars -StrictRequire",
    "FakeBasicAuth -StdEnvVars",
)
CONF = """\
LoadModule ssl_module modules/mod_ssl.so
DocumentRoot "{root}/htdocs"
SSLEngine On
SSLCertificateFile conf/a.pem
SSLCertificateKeyFile conf/a.key
<Directory "{root}/htdocs">
    AllowOverride All
    Header set Variables "%{{SSL_PROTOCOL}}e %{{SSL_SERVER_S_DN}}e"
</Directory>
"""


def _variables(port: int, path: str) -> tuple[str, str]:
    context = ssl._create_unverified_context()
    with urlopen(f"https://127.0.0.1:{port}/{path}/index.html", context=context, timeout=20) as response:
        protocol, name = response.headers["Variables"].split(" ", 1)
    return protocol, name


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory that the user of apache2's processes may read, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-ssl-options-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_each_variable_stays_set_and_names_keep_their_format(root: Path) -> None:
    for directory in ("conf", "logs", *(f"htdocs/{number}" for number in range(2 * len(WORDS)))):
        (root / directory).mkdir(parents=True)
    words = (
        "openssl req -x509 -nodes -newkey rsa:2048 -days 30 -subj /O=x/CN=localhost -out a.pem -keyout a.key"
    )
    subprocess.run(words.split(), check=True, capture_output=True, cwd=root / "conf")
    text = CONF.format(root=root)
    (root / "conf/httpd.conf").write_text(text)
    for number, line in enumerate(WORDS):
        (root / f"htdocs/{number}/.htaccess").write_text(f"SSLOptions {line}\n")
        (root / f"htdocs/{number}/index.html").write_text("x")
    options = LoadOptions(server_root=from_system(str(root)), file="conf/httpd.conf")
    found = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    for number in range(len(WORDS)):
        old = root / f"htdocs/{number}/.htaccess"
        new = root / f"htdocs/{number + len(WORDS)}/.htaccess"
        new.write_bytes(found.files.get(str(old), old.read_bytes()))
        new.with_name("index.html").write_text("x")
    new_text = found.files[str(root / "conf/httpd.conf")].decode()
    (root / "conf/httpd.conf").write_text(re.sub(r"(?m)^LoadModule.*\n", "", new_text))
    with Apache(root, (), MODULES) as server:
        before = [_variables(server.port, str(number)) for number in range(len(WORDS))]
        after = [_variables(server.port, str(number + len(WORDS))) for number in range(len(WORDS))]
    assert [protocol for protocol, _ in after] == [protocol for protocol, _ in before]
    assert {protocol for protocol, _ in before} > {"(null)"}  # some lines set the variables, some do not
    for protocol, name in after:
        assert name == ("(null)" if protocol == "(null)" else "/O=x/CN=localhost")
