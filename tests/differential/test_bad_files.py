"""Password, group and DBM files that are missing, closed, cut short, no text at all or huge: refused as
apache2 refuses, and never in.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.differential.exchange import Request, exchange
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.site import PASSWORDS, GeneratedSite, ServerProcess, documents, htaccess
from tests.support.dbm_samples import write_sdbm

NOISE = random.Random(4).randbytes(70_000)
LINES = 1_000_000
ALICE = PASSWORDS.split("\n")[0]
TEXTS = {  # name, what the password file holds, what the group file holds
    "binary": (NOISE, NOISE),
    "zeros": (b"\0" * 5000, b"\0" * 5000),
    "empty": (b"", b""),
    "cut": (ALICE[:-6].encode(), b"wardens: ali"),
    "nocolon": (b"alice\nbob {SHA}x\n", b"wardens alice\n"),
    "nul": (f"al\0ice:x\n{ALICE}\n".encode(), b"war\0dens: alice\nwardens: al\0ice\n"),
    "crlf": (f"\r\n{ALICE}\r\n".encode(), b"wardens: alice\r\n"),
    "longline": (b"x" * 20_000 + f":y\n{ALICE}\n".encode(), b"x: " + b"y " * 20_000 + b"\nwardens: alice\n"),
    "nohash": (b"alice:\nbob:plain\n", b"wardens:\n"),
}
PLACES = (*TEXTS, "huge", "missing", "folder", "closed", "looped")
DBM = ("good", "cutpag", "noise", "nodir", "nopag", "emptypag", "closedpag")
USERS = ("", "alice:curlew", "alice:wrong", "alice:", "bob:dunlin", "eve:x", ":", "u7:x")


def huge() -> tuple[bytes, bytes]:
    """Return a password file and a group file of many lines."""
    return (
        b"".join(b"u%d:{SHA}x\n" % n for n in range(LINES)) + f"{ALICE}\n".encode(),
        b"".join(b"g%d: u%d\n" % (n, n) for n in range(LINES)) + b"wardens: alice\n",
    )


def spoiled(root: Path) -> None:
    """Write the files, each kind of damage once for passwords (.pw) and once for groups (.gr)."""
    for name, (passwords, groups) in {**TEXTS, "huge": huge()}.items():
        (root / f"{name}.pw").write_bytes(passwords)
        (root / f"{name}.gr").write_bytes(groups)
    for kind in ("pw", "gr"):
        (root / f"folder.{kind}").mkdir()
        (root / f"looped.{kind}").symlink_to(f"looped.{kind}")
        (root / f"closed.{kind}").write_text(ALICE + "\n" if kind == "pw" else "wardens: alice\n")
        (root / f"closed.{kind}").chmod(0)
    for name in DBM:
        write_sdbm(root / f"{name}_dp", tuple(part.encode() for part in ALICE.split(":", 1)))
        write_sdbm(root / f"{name}_dg", (b"alice", b"wardens"))
        for kind in ("dp", "dg"):
            folder, pages = root / f"{name}_{kind}.dir", root / f"{name}_{kind}.pag"
            data = pages.read_bytes()
            pages.write_bytes({"cutpag": data[:700], "noise": NOISE, "emptypag": b""}.get(name, data))
            if name in ("nodir", "nopag"):
                (folder if name == "nodir" else pages).unlink()
            if name == "closedpag":
                pages.chmod(0)


def area(path: str, lines: str) -> str:
    """Return one section that requires a password."""
    return f"<Location /{path}>\nAuthType Basic\nAuthName zone\n{lines}</Location>\n"


def configuration() -> str:
    """A place for every damaged file: damaged passwords, damaged groups with good passwords, and
    both of DBM.
    """
    text = 'Alias / %ROOT%/a.txt\n<Directory "%ROOT%">\nRequire all denied\n</Directory>\n'
    for name in PLACES:
        text += area(f"pw-{name}", f"AuthUserFile {name}.pw\nRequire valid-user\n")
        text += area(f"gr-{name}", f"AuthUserFile passwd\nAuthGroupFile {name}.gr\nRequire group wardens\n")
    for name in DBM:
        text += area(
            f"dp-{name}",
            f"AuthBasicProvider dbm\nAuthDBMType SDBM\nAuthDBMUserFile {name}_dp\nRequire valid-user\n",
        )
        text += area(
            f"dg-{name}",
            f"AuthUserFile passwd\nAuthzDBMType SDBM\nAuthDBMGroupFile {name}_dg\n"
            f"Require dbm-group wardens\n",
        )
    return text


ALL_PLACES = [
    f"{kind}-{name}"
    for kinds, names in ((("pw", "gr"), PLACES), (("dp", "dg"), DBM))
    for kind in kinds
    for name in names
]


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """The ports of apache2 and of Whimbrel, both on the same damaged files."""
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="whimbrel-bad-") as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        htaccess(root, {})
        spoiled(root)
        one, other = (
            stack.enter_context(ServerProcess(program, GeneratedSite(configuration()), root))
            for program in (APACHE, WHIMBREL)
        )
        assert one.started and other.started, other.output
        yield one.port, other.port


@pytest.mark.parametrize("place", ALL_PLACES)
def test_damaged_files(ports: tuple[int, int], place: str) -> None:
    for user in USERS:
        request = Request(f"/{place}", user=user)
        want, got = exchange(ports[0], request), exchange(ports[1], request)
        assert want == got, request
        assert got.status != 200 or user == "alice:curlew"
