"""A real OpenLDAP server with a few users and groups, for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/bin")
SCHEMAS = Path("/etc/ldap/schema")
BASE = "dc=example,dc=org"
PEOPLE = f"ou=people,{BASE}"
MISSING = "" if SLAPD and SCHEMAS.is_dir() else "no slapd of Debian's package slapd on this machine"

_CONFIG = """
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
pidfile {root}/pid
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
maxsize 16777216
suffix "{base}"
rootdn "cn=admin,{base}"
rootpw secret
directory {root}/data
"""
_PERSON = (
    "dn: uid={uid},{people}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {cn}\nsn: {sn}\n{more}"
    "userPassword: {password}\n\n"
)
_GROUP = "dn: cn={cn},{base}\nobjectClass: groupOfNames\ncn: {cn}\n{members}\n\n"


def _entries() -> str:
    people = [
        (
            "alice",
            "Alice A",
            "A",
            "mail: alice@example.org\nmail: a@example.org\ndescription: staff\n",
            "wonder",
        ),
        ("bob", "Bob B", "B", "", "builder"),
        ("x(y)*z\\\\w", "odd", "odd", "", "odd"),
    ]
    groups = [
        ("staff", f"member: uid=alice,{PEOPLE}"),
        ("all", f"member: cn=staff,{BASE}\nmember: uid=bob,{PEOPLE}"),
        ("top", f"member: cn=all,{BASE}"),
        ("ring", f"member: cn=ring2,{BASE}"),
        ("ring2", f"member: cn=ring,{BASE}"),
    ]
    root = f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n\n"
    unit = f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n\n"
    return (
        root
        + unit
        + "".join(
            _PERSON.format(uid=uid, people=PEOPLE, cn=cn, sn=sn, more=more, password=password)
            for uid, cn, sn, more, password in people
        ).replace("uid: x(y)*z\\\\w", "uid: x(y)*z\\w")
        + "".join(_GROUP.format(cn=cn, base=BASE, members=members) for cn, members in groups)
    )


class LdapDirectory:
    """A directory in *root* on a free port of the loopback; it begins stopped."""

    def __init__(self, root: Path) -> None:
        (root / "data").mkdir(parents=True)
        self._config = root / "slapd.conf"
        self._config.write_text(_CONFIG.format(schemas=SCHEMAS, root=root, base=BASE))
        (root / "data.ldif").write_text(_entries())
        command = ["/usr/sbin/slapadd", "-q", "-f", str(self._config), "-l", str(root / "data.ldif")]
        subprocess.run(command, check=True, capture_output=True, timeout=30)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        assert SLAPD is not None
        self._process = subprocess.Popen(
            [SLAPD, "-f", str(self._config), "-h", f"ldap://127.0.0.1:{self.port}/", "-d", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("slapd does not accept connections")

    def kill(self) -> None:
        """End the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None
