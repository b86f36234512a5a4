"""TLS for servers under attack: certificates, settings, clients."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from tests.hostile.server import HostileSite, ServerProcess
from tests.support.tls import text_of

LOAD = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n"
CERTIFICATES = (
    'SSLCertificateFile "%ROOT%/htdocs/.ht.crt"\nSSLCertificateKeyFile "%ROOT%/htdocs/.ht.key"\n'
    'SSLCACertificateFile "%ROOT%/htdocs/.htca.crt"\n'
)
HIDDEN = '<Files ".ht*">\nRequire all denied\n</Files>\n'


def tls_site(conf: str = "", documents: dict[str, bytes] | None = None) -> HostileSite:
    """Return a site whose address speaks TLS with the certificates of the recorded cases."""
    files = {
        ".ht.crt": text_of(54, "conf/lo.crt").encode(),
        ".ht.key": text_of(54, "conf/lo.key").encode(),
        ".htca.crt": text_of(54, "conf/ca.crt").encode(),
        "index.html": b"front\n",
        "a.txt": b"plain a\n",
        **(documents or {}),
    }
    return HostileSite(f"{LOAD}{HIDDEN}SSLEngine on\nSSLSessionCache none\n{CERTIFICATES}{conf}", files)


def client_context(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """Return a client's context that accepts every certificate and speaks at most *version*."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = version
    return context


def connect_tls(
    server: ServerProcess, context: ssl.SSLContext | None = None, timeout: float = 30.0
) -> ssl.SSLSocket:
    """Open a connection and complete the handshake; raises OSError."""
    return (context or client_context()).wrap_socket(server.connect(timeout), server_hostname="localhost")


def client_hello(name: str = "localhost", version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """Return the first message of a client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context(version).wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def certificate_of(port: int) -> bytes:
    """Return the certificate of a server on 127.0.0.1 in DER."""
    with socket.create_connection(("127.0.0.1", port), 10) as wire, client_context().wrap_socket(wire) as tls:
        return tls.getpeercert(binary_form=True) or b""


def write_pem(path: Path, text: str) -> Path:
    """Write a certificate or key; return its path."""
    path.write_text(text)
    return path
