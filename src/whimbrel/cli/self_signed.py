"""HTTPS for trying things out: a self-signed certificate for localhost, and a virtual host that has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from whimbrel.base.file_writing import write_over
from whimbrel.modules.md.mod_md.keys import self_signed

DAYS: Final = 30
_HOST: Final = """<IfModule !ssl_module>
LoadModule ssl_module modules/mod_ssl.so
</IfModule>
Listen 127.0.0.1:{port} https
<VirtualHost 127.0.0.1:{port}>
ServerName localhost
SSLEngine on
SSLCertificateFile "{certificate}"
SSLCertificateKeyFile "{key}"
</VirtualHost>
"""


def make(directory: Path) -> tuple[Path, Path]:
    """Write a certificate for localhost and its key into *directory*; return their files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
    names = [x509.DNSName("localhost"), *(x509.IPAddress(one) for one in addresses)]
    certificate = (
        self_signed(key, name, datetime.now(UTC) - timedelta(hours=1), timedelta(days=DAYS, hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    paths = directory / "localhost.crt", directory / "localhost.key"
    write_over(bytes(paths[0]), certificate.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_over(bytes(paths[1]), secret, 0o600)
    return paths


def include_line(port: int, directory: Path) -> str:
    """Return the line that adds HTTPS on *port*; its files are in *directory*."""
    certificate, key = make(directory)
    file = directory / "tls.conf"
    write_over(bytes(file), _HOST.format(port=port, certificate=certificate, key=key).encode())
    print(f"https://localhost:{port}/  certificate: {certificate}", flush=True)
    return f'Include "{file}"'
