"""A 2.2 text with WordPress, Cacti, Zabbix and Icinga Web: check, upgrade and verify.

apache2 with PHP 8 and Whimbrel with php-fpm serve the text as `upgrade --write` wrote it.
"""

from __future__ import annotations

import base64
import http.client
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program, ProgramProcess
from tests.support import warm_command
from tests.support.mariadb import INSTALL, PASSWORD, PROGRAM, USER, MariaDb
from tests.support.office_site import MODULES, SECRET, build, fill_database, missing_packages
from tests.support.php import php_fpm
from whimbrel.testing.ports import free_port

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed"),
    pytest.mark.skipif(php_fpm() is None, reason="php-fpm is not installed"),
    pytest.mark.skipif(PROGRAM is None or INSTALL is None, reason="mariadb-server is not installed"),
    pytest.mark.skipif(
        not list(MODULES.glob("libphp8*.so")), reason="libapache2-mod-php is not installed (PHP 8)"
    ),
    pytest.mark.skipif(bool(missing_packages()), reason=f"not installed: {', '.join(missing_packages())}"),
]
INTRANET, BLOG = "intranet.harbour.example", "blog.harbour.example"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@dataclass(frozen=True)
class Page:
    """A request with the status and a pattern of the body that the administrator of 2.2 expects."""

    host: str
    path: str
    status: int
    pattern: str = ""
    is_known: bool = False
    client: str = "127.0.0.1"
    cookie: str = ""


APPLICATIONS = (
    Page(INTRANET, "/", 200, "^harbour office\n$"),
    Page(INTRANET, "/sum.php", 200, "^42$"),
    Page(INTRANET, "/info.phtml", 200, "^42$"),
    Page(INTRANET, "/cacti/", 200, "(?s)<title>Login to Cacti.*name='login_password'"),
    Page(INTRANET, "/zabbix/", 302),
    Page(INTRANET, "/zabbix/setup.php", 200, "(?s)<title>Installation.*Zabbix 6"),
    Page(
        INTRANET,
        "/icingaweb2/authentication/login",
        200,
        '(?s)<title>Icinga Web 2 Login.*type="password"',
        is_known=True,
        cookie="_chc=1",
    ),
    Page(BLOG, "/", 200, "^waders: Hello world!$"),
    Page(BLOG, "/hello-world/", 200, "^waders: Hello world!$"),
    Page(BLOG, "/no-such-page/", 404),
    Page(BLOG, "/wp-login.php", 200, '(?s)<title>Log In.*id="user_pass"'),
    Page(BLOG, "/wp-cron.php", 200),
)
PROTECTED = (
    Page(INTRANET, "/server-status", 403, client="127.0.0.9"),
    Page(INTRANET, "/server-status", 200),
    Page(INTRANET, "/old.php.bak", 403),
    Page(INTRANET, "/backup/files.txt", 401),
    Page(INTRANET, "/backup/files.txt", 200, "all files", is_known=True),
    Page(INTRANET, "/backup/files.txt", 200, "all files", client="127.0.0.2"),
    Page(INTRANET, "/cacti/scripts/sql.php", 403),
    Page(INTRANET, "/cacti/mibs/", 403),
    Page(INTRANET, "/cacti/include/config.php", 200, "^$"),
    Page(INTRANET, "/zabbix/conf/secret.php", 403),
    Page(INTRANET, "/zabbix/include/classes/core/APIFactory.php", 403),
    Page(INTRANET, "/icingaweb2/authentication/login", 401),
    Page(BLOG, "/.htaccess", 403),
    Page(BLOG, "/wp-config.php", 403),
    Page(BLOG, "/wp-cron.php", 403, client="127.0.0.9"),
    Page(BLOG, "/xmlrpc.php", 403),
)
DATA = (
    Page(INTRANET, "/uploads/sum.php", 200, "^<\\?php echo 6"),
    Page(INTRANET, "/backup/sum.php", 200, "^<\\?php echo 6", is_known=True),
    Page(BLOG, "/wp-content/uploads/sum.php", 200, "^<\\?php echo 6"),
)
"""Scripts of places where the engine is off: files to be read, never run."""


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    done = warm_command.run([name, *map(str, arguments)], cwd=Path.cwd())
    texts = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


@pytest.fixture(scope="module")
def upgraded() -> Iterator[tuple[Path, int, str]]:
    """Yield a server root whose text was upgraded, its port, and what `upgrade` printed."""
    with TemporaryDirectory(prefix="office-") as name:
        root = Path(name).resolve()
        root.chmod(0o755)
        port = free_port()
        with MariaDb(root) as database:
            conf = build(root, database, port)
            fill_database(root, database)
            old = conf.with_name("old.conf")
            old.write_bytes(conf.read_bytes())
            result = run("upgrade", "--write", "-d", root / "etc", "-f", "httpd.conf")
            assert result.returncode == 3, result.stderr
            yield root, port, result.stdout


@pytest.fixture(params=[APACHE, WHIMBREL], ids=lambda program: program.name, scope="module")
def server(request: pytest.FixtureRequest, upgraded: tuple[Path, int, str]) -> Iterator[ProgramProcess]:
    root, port, _text = upgraded
    program: Program = request.param
    with ProgramProcess(program, root / "etc", root / "etc/httpd.conf", root / "etc/run", port) as process:
        assert process.started, process.output
        yield process
    (root / "etc/run/pid").unlink(missing_ok=True)


def answer(port: int, page: Page) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(page.client, 0))
    fields = {"Host": page.host}
    if page.is_known:
        fields["Authorization"] = BASIC
    if page.cookie:
        fields["Cookie"] = page.cookie
    connection.request("GET", page.path, headers=fields)
    with connection.getresponse() as response:
        return response.status, response.read().decode("utf-8", "replace")


@pytest.mark.parametrize("pages", [APPLICATIONS, PROTECTED, DATA], ids=["applications", "protected", "data"])
def test_the_upgraded_text_serves_them(server: ProgramProcess, pages: tuple[Page, ...]) -> None:
    for page in pages:
        status, body = answer(server.port, page)
        assert status == page.status, (page, body[:400])
        assert re.search(page.pattern, body), (page, body[:400])
        assert SECRET not in body, page


def test_check_names_what_stops_the_server_and_opens_it(upgraded: tuple[Path, int, str]) -> None:
    result = run("check", "-d", upgraded[0] / "etc", "-f", "old.conf")
    assert result.returncode == 1
    risks = set(re.findall(r"^\S+:\d+  (\w+) \S+  ([a-z -]+[a-z])", result.stdout, re.M))
    opens = {("R12", "opens access"), ("R13", "opens access")}
    assert opens | {("C06", "breaks start-up"), ("X22", "closes access")} <= risks


def test_upgrade_names_what_needs_review(upgraded: tuple[Path, int, str]) -> None:
    root, _port, text = upgraded
    review = re.findall(r"^(\S+):\d+  (\w+) .* needs review", text, re.M)
    assert ("C06" in [rule for _path, rule in review]) and "changed, needs review" in text
    assert [path for path, rule in review if rule == "X22"][0].endswith("akismet/.htaccess"), text
    assert "2.4 refuses Require under this AllowOverride" in text
    assert "LoadModule php_module modules/libphp8" in (root / "etc/httpd.conf").read_text()
    assert "<?php" in (root / "usr/share/wordpress/wp-config.php").read_text()


def test_verify_finds_no_other_access(upgraded: tuple[Path, int, str]) -> None:
    etc = upgraded[0] / "etc"
    text = run("verify", etc / "old.conf", etc / "httpd.conf").stdout
    changes = set(re.findall(r"status: old \(2\.2\) (\d+), new \(2\.4\) (\d+)", text))
    # The rule of Akismet's .htaccess file, which upgrade reports as X22, is all that answers otherwise.
    assert {new for _old, new in changes} == {"500"}, text
    assert "handler: " not in text
