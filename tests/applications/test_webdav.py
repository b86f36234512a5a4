"""WebDAV clients: litmus (Debian's test suite of servers), cadaver, and git's push without a program.

litmus passes on apache2 with all its tests; so it must here, over HTTP/1 and TLS, with two workers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.stock_site import StockServer, write_documents
from tests.support.git import git
from tests.support.php import own

needs_litmus = pytest.mark.skipif(not shutil.which("litmus"), reason="litmus is not installed")
needs_cadaver = pytest.mark.skipif(not shutil.which("cadaver"), reason="cadaver is not installed")
pytestmark = pytest.mark.skipif(
    not APACHE.present, reason="no /etc/apache2 to copy: apache2 is not installed"
)
CONF = """
StartServers 2
ServerLimit 2
DavLockDB {base}/var/locks/db
Alias /dav {base}/var/dav
<Directory {base}/var/dav>
  Require all granted
  Dav On
  DavDepthInfinity On
  DirectoryIndex disabled
</Directory>
"""
TLS = """
SSLEngine On
SSLCertificateFile {base}/cert.pem
SSLCertificateKeyFile {base}/key.pem
"""
_SUMMARY = re.compile(r"summary for `(\w+)': of (\d+) tests run: (\d+) passed")


@contextmanager
def served(program: Program, more: str = "", modules: tuple[str, ...] = ()) -> Iterator[tuple[str, Path]]:
    """Serve an empty collection; yield host and port, and the directory of the server's files."""
    with TemporaryDirectory(prefix="dav-") as name:
        base = Path(name)
        write_documents(base)
        for directory in ("var/dav", "var/locks"):
            (base / directory).mkdir(parents=True)
        if more:
            command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
            command += f" -keyout {base}/key.pem -out {base}/cert.pem"
            subprocess.run(command.split(), check=True, capture_output=True, timeout=30)
        own(base / "var")
        conf = (CONF + more).format(base=base)
        with StockServer(program, base, conf, modules=["dav", "dav_fs", *modules]) as server:
            assert server.started, server.output
            yield f"localhost:{server.port}", base


def litmus(url: str, directory: Path) -> dict[str, tuple[str, str]]:
    """Return the numbers of tests that ran and passed, by group."""
    found = subprocess.run(
        ["litmus", "-k", url], cwd=directory, capture_output=True, text=True, timeout=120, errors="replace"
    )
    return {name: (run, passed) for name, run, passed in _SUMMARY.findall(found.stdout)}


@needs_litmus
@pytest.mark.parametrize("program", [APACHE, WHIMBREL], ids=lambda program: program.name)
def test_litmus(program: Program) -> None:
    with served(program) as (host, base):
        groups = litmus(f"http://{host}/dav/", base)
    assert set(groups) == {"basic", "copymove", "props", "locks", "http"}
    assert all(run == passed for run, passed in groups.values()), groups


@needs_litmus
def test_litmus_over_tls() -> None:
    with served(WHIMBREL, TLS, ("ssl", "socache_shmcb")) as (host, base):
        groups = litmus(f"https://{host}/dav/", base)
    assert len(groups) == 5
    assert all(run == passed for run, passed in groups.values()), groups


SET = (
    '<D:propertyupdate xmlns:D="DAV:" xmlns:z="urn:{name}"><D:set><D:prop>'
    '<z:colour xml:lang="de"><z:of a="b">{name} &amp;</z:of></z:colour></D:prop></D:set></D:propertyupdate>'
)


def ask(host: str, method: str, body: str = "") -> str:
    """Return the body of the response to *method* on a.txt."""
    connection = HTTPConnection(host, timeout=20)
    connection.request(method, "/dav/a.txt", body.encode(), {"Depth": "0"})
    return connection.getresponse().read().decode()


def test_apache_reads_our_properties_and_we_read_its() -> None:
    with served(WHIMBREL) as (ours, base), served(APACHE) as (its, other):
        shutil.rmtree(other / "var/dav")
        (other / "var/dav").symlink_to(base / "var/dav")
        ask(ours, "PUT", "x")
        assert "200 OK" in ask(ours, "PROPPATCH", SET.format(name="whimbrel"))
        assert "200 OK" in ask(its, "PROPPATCH", SET.format(name="apache"))
        assert "200 OK" in ask(ours, "PROPPATCH", SET.format(name="knot"))
        for host in (ours, its):
            found = ask(host, "PROPFIND")
            for number, name in enumerate(("whimbrel", "apache", "knot"), 1):
                value = f'<ns{number}:of a="b">{name} &amp;</ns{number}:of>'
                assert f'<ns{number}:colour xml:lang="de">{value}</ns{number}:colour>\n' in found


@needs_cadaver
def test_cadaver() -> None:
    with served(WHIMBREL) as (host, base):
        (base / "local.txt").write_text("curlew\n")
        script = (
            "mkcol birds\nput local.txt birds/one.txt\ncopy birds/one.txt birds/two.txt\n"
            "move birds/two.txt birds/three.txt\nlock birds/one.txt\nunlock birds/one.txt\n"
            "ls birds\npropset birds/one.txt colour brown\npropget birds/one.txt colour\n"
            "get birds/three.txt back.txt\nrmcol birds\nquit\n"
        )
        found = subprocess.run(
            ["cadaver", f"http://{host}/dav/"],
            input=script,
            cwd=base,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "failed" not in found.stdout, found.stdout
        assert "brown" in found.stdout
        assert (base / "back.txt").read_text() == "curlew\n"
        assert not (base / "var/dav/birds").exists()


@pytest.mark.skipif(
    not Path("/usr/lib/git-core/git-http-push").exists(), reason="git http-push is not installed"
)
def test_git_pushes_over_webdav() -> None:
    with served(WHIMBREL) as (host, base):
        bare = base / "var/dav/waders.git"
        git("init", "--bare", "-b", "main", str(bare), directory=base)
        git("update-server-info", directory=bare)
        own(base / "var")
        work = base / "work"
        work.mkdir()
        git("init", "-b", "main", ".", directory=work)
        (work / "knot").write_text("knot\n")
        git("add", ".", directory=work)
        git("commit", "-m", "waders", directory=work)
        git("http-push", f"http://{host}/dav/waders.git/", "main", directory=work)
        git("clone", f"http://{host}/dav/waders.git/", str(base / "again"), directory=base)
        assert (base / "again/knot").read_text() == "knot\n"
