"""One configuration on one document root, served by any httpd-compatible program on a loopback port."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.servers import Program, ProgramProcess
from whimbrel.testing.ports import free_port

MTIME = 1_600_000_000
MODULES = """
mpm_event authn_core authn_file authz_core authz_host authz_user authz_groupfile authz_owner auth_basic
auth_digest access_compat authn_dbm authz_dbm alias autoindex dir env headers include mime rewrite setenvif
""".split()
FILES = {
    "index.html": "front\n",
    "a.txt": "plain a\n",
    "a.html": "<p>a</p>\n",
    "odd.ext": "?\n",
    "sp ace.txt": "space\n",
    ".hidden": "dot\n",
    "dir/index.html": "dir\n",
    "dir/b.txt": "b\n" * 40,
    "dir/sub/c.txt": "c\n",
    "dir/sub/first.htm": "first\n",
    "list/one.txt": "1\n",
    "list/two.html": "2\n",
    "list/deep/three.txt": "3\n",
}
HTACCESS = (".htaccess", "dir/.htaccess", "dir/sub/.htaccess", "list/.htaccess")
PARSED = ("page.shtml", "inner.shtml")
PASSWORDS = (
    "alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\nbob:{SHA}6IkURDHYke75RdeV7Cfj27ukRGU=\n"  # curlew, dunlin
)
# godwit, and bob with alice's password
SECOND = "carol:{SHA}YRWLWWiP+wSzEgfVcCl3bbLttVc=\nbob:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n"
DIGESTS = (
    "alice:realm:91827fd82f2f972aa8fec7e25c5f137b\nbob:realm:c65295c2ad77148936fdbad5eb07f79f\n"
    "alice:hashed:ff7d232a59382823ae1a7fb88b09467c\nbob:hashed:96eaf2e8a2cead116e65ecce8225e6b5\n"
)  # of the same passwords
GROUPS = "wardens: alice\nboth: alice bob\nKeepers: carol\n"


@dataclass(frozen=True)
class GeneratedSite:
    """Input of a comparison: the text of the main file (%ROOT% is the document root, %PORT% the port),
    .htaccess files and documents by name.
    """

    conf: str
    htaccess: dict[str, str] = field(default_factory=dict)


def documents(root: Path) -> None:
    """Writes the document root that both programs serve, every time stamp the same."""
    for name, text in FILES.items():
        path = root / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "passwd").write_text(PASSWORDS)
    (root / "groups").write_text(GROUPS)
    (root / "passwd2").write_text(SECOND)
    (root / "digests").write_text(DIGESTS)
    (root / "mime.types").write_text("text/html html htm\ntext/plain txt\n")
    date(root)


def date(root: Path) -> None:
    """Gives everything below *root* one time stamp of the past: a new file has a weak ETag for a second."""
    for path in (root, *root.rglob("*")):
        os.utime(path, (MTIME, MTIME))


def htaccess(root: Path, files: dict[str, str]) -> None:
    """Puts the .htaccess files and documents of one example in place and takes away those of the
    one before.
    """
    for name in HTACCESS + PARSED:
        path = root / "htdocs" / name
        path.unlink(missing_ok=True)
        if name in files:
            path.write_text(files[name].replace("%BASE%", str(root)))
    for path in (root, *root.rglob("*")):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    date(root)


class ServerProcess(ProgramProcess):
    """Process of *program* serving *site*; a context manager that removes its logs."""

    def __init__(self, program: Program, site: GeneratedSite, root: Path) -> None:
        port = free_port()
        self.root, self.logs = root, root.parent / f"{program.name}-{port}"
        self.logs.mkdir(mode=0o755)
        super().__init__(program, root, self.logs / "httpd.conf", self.logs, port)
        text = (
            site.conf.replace("%ROOT%", str(root / "htdocs"))
            .replace("%BASE%", str(root))
            .replace("%PORT%", str(self.port))
        )
        self.conf.write_text(self._preamble() + text)

    def _preamble(self) -> str:
        loads = "".join(f"LoadModule {m}_module {self.program.module_dir}/mod_{m}.so\n" for m in MODULES)
        user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
        return (
            f'{loads}{user}ServerRoot "{self.root}"\nServerName localhost\nListen 127.0.0.1:{self.port}\n'
            f"PidFile {self.logs}/pid\n"
            f"DefaultRuntimeDir {self.logs}\nErrorLog {self.logs}/error_log\nStartServers 1\n"
            f"TypesConfig mime.types\n"
            f'DocumentRoot "{self.root}/htdocs"\n'
        )

    @property
    def output(self) -> str:
        """Return its standard output and error, without its own name and paths."""
        text = super().output.replace(str(self.conf), "%CONF%").replace(str(self.port), "%PORT%")
        lines = [
            line.partition("] AH")[1] and "AH" + line.partition("] AH")[2] or line
            for line in text.splitlines()
        ]
        return "\n".join(
            line.removeprefix("apache2: ").removeprefix("whimbrel-httpd: ").removeprefix("httpd: ")
            for line in lines
        )

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        shutil.rmtree(self.logs, ignore_errors=True)
