"""pebble, an authority for tests (Debian's package), with its DNS server: all names are 127.0.0.1."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from whimbrel.testing.ports import free_ports

ATTEMPTS = 5
PATIENCE = 30.0  # seconds
MISSING = "" if shutil.which("pebble") and shutil.which("pebble-challtestsrv") else "pebble is not installed"


@dataclass
class Pebble:
    """A running authority.

    Attributes:
        ca_file: the certificate of its own server. `answers`: port of the DNS server's management.
    """

    directory: str
    management: int
    ca_file: Path
    answers: int = 0

    @property
    def log(self) -> Path:
        """Output of its processes."""
        return self.ca_file.parent / "pebble.log"

    def root(self) -> str:
        """Return the root of the certificates that it issues, in PEM."""
        context = ssl.create_default_context(cafile=self.ca_file)
        wire = http.client.HTTPSConnection("127.0.0.1", self.management, context=context, timeout=10)
        wire.request("GET", "/roots/0")
        return wire.getresponse().read().decode()


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pebble")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ca.key").write_bytes(key.private_bytes(*form))


@contextmanager
def pebble(
    folder: Path, http_port: int, tls_port: int, rejected: int = 5, **settings: object
) -> Iterator[Pebble]:
    """Run an authority that validates on these ports; it rejects *rejected* percent of the valid nonces."""
    _certificate(folder)
    with (folder / "pebble.log").open("wb") as log:
        for _ in range(ATTEMPTS):  # another program may take a port before pebble does
            ports = {"httpPort": http_port, "tlsPort": tls_port}
            running, made = _start(folder, log, {**ports, **settings}, rejected)
            try:
                if _answers(made, running):
                    yield made
                    return
            finally:
                for process in running:
                    process.terminate()
                    process.wait(10)
    raise AssertionError(f"pebble does not start: {(folder / 'pebble.log').read_text()}")


def _start(
    folder: Path, log: BinaryIO, settings: dict[str, object], rejected: int
) -> tuple[list[subprocess.Popen[bytes]], Pebble]:
    """Start the authority and its DNS server on free ports."""
    acme, management, dns, answers = free_ports(4)
    conf = {
        "listenAddress": f"127.0.0.1:{acme}",
        "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(folder / "ca.pem"),
        "privateKey": str(folder / "ca.key"),
        "externalAccountBindingRequired": False,
        **settings,
    }
    (folder / "pebble.json").write_text(json.dumps({"pebble": conf}))
    none = ("-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", "")
    names = [
        "pebble-challtestsrv",
        "-dns01",
        f"127.0.0.1:{dns}",
        "-management",
        f"127.0.0.1:{answers}",
        *none,
    ]
    ca = ["pebble", "-config", str(folder / "pebble.json"), "-dnsserver", f"127.0.0.1:{dns}"]
    fixed = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0", "PEBBLE_WFE_NONCEREJECT": str(rejected)}
    environment = os.environ | fixed
    running = [subprocess.Popen(command, env=environment, stdout=log, stderr=log) for command in (names, ca)]
    return running, Pebble(f"https://127.0.0.1:{acme}/dir", management, folder / "ca.pem", answers)


def _answers(made: Pebble, running: list[subprocess.Popen[bytes]]) -> bool:
    """Wait for the authority; return False if one of its processes has ended."""
    end = time.monotonic() + PATIENCE
    while all(process.poll() is None for process in running):
        try:
            made.root()
            socket.create_connection(("127.0.0.1", made.answers)).close()
            return True
        except OSError:
            assert time.monotonic() < end, "pebble does not answer"
            time.sleep(0.02)
    return False
