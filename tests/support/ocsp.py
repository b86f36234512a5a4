"""An authority with certificates, and an OCSP responder, for tests."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from whimbrel.modules.ssl.mod_ssl.key_files import KeyPair

GOOD, REVOKED, UNKNOWN = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED, ocsp.OCSPCertStatus.UNKNOWN


class Certificate:
    """A certificate with its key."""

    def __init__(
        self,
        name: str,
        issuer: Certificate | None = None,
        *,
        signs_ocsp: bool = False,
        is_authority: bool = False,
    ) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = issuer or self
        now = datetime.now(UTC)
        constraints = x509.BasicConstraints(ca=is_authority or issuer is None, path_length=None)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.certificate.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(constraints, critical=True)
        )
        if signs_ocsp:
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
            builder = builder.add_extension(usage, critical=False)
        self.certificate = builder.sign(signer.key, SHA256())

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key in PEM."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def pair(self, *chain: Certificate) -> KeyPair:
        """Return the certificate, its *chain* and its key."""
        return KeyPair((self.der, *(one.der for one in chain)), self.key_pem)

    def write(self, folder: Path, name: str) -> None:
        """Write *name*.crt and *name*.key."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.crt").write_bytes(self.pem)
        (folder / f"{name}.key").write_bytes(self.key_pem)


def response_to(
    request: bytes,
    authority: Certificate,
    leaf: Certificate,
    *,
    status: Any = GOOD,
    age: float = 60,
    life: float = 3600,
    signer: Certificate | None = None,
    has_nonce: bool = True,
    more_certificates: int = 0,
) -> bytes:
    """Return a response whose status for *leaf* is *age* seconds old and valid for *life*."""
    now, signer = datetime.now(UTC), signer or authority
    begin = now - timedelta(seconds=age)
    builder = (
        ocsp.OCSPResponseBuilder()
        .add_response(
            leaf.certificate,
            authority.certificate,
            SHA1(),
            status,
            begin,
            begin + timedelta(seconds=life),
            begin if status is REVOKED else None,
            x509.ReasonFlags.key_compromise if status is REVOKED else None,
        )
        .responder_id(ocsp.OCSPResponderEncoding.HASH, signer.certificate)
    )
    if signer is not authority or more_certificates:
        builder = builder.certificates([signer.certificate] * (1 + more_certificates))
    if has_nonce:
        for extension in ocsp.load_der_ocsp_request(request).extensions:
            builder = builder.add_extension(extension.value, critical=False)
    return builder.sign(signer.key, SHA256()).public_bytes(Encoding.DER)


class FakeResponder:
    """A responder on a loopback port; a context manager.

    Attributes:
        answer: function of a request that returns the bytes of the whole HTTP response, None to stay silent.
        pause: seconds between two bytes of a response; 0 sends it at once.
        requests: those that have arrived.
    """

    def __init__(self, answer: Any, pause: float = 0.0) -> None:
        self.answer, self.pause, self.requests, self._ended = answer, pause, [b""][:0], Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/status"

    def __enter__(self) -> FakeResponder:
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._ended.set()
        self._listener.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                wire, _address = self._listener.accept()
            except OSError:
                return
            Thread(target=self._reply, args=(wire,), daemon=True).start()

    def _reply(self, wire: socket.socket) -> None:
        with wire:
            data = b""
            while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < _length(data):
                data += wire.recv(65536)
            body = data.partition(b"\r\n\r\n")[2]
            self.requests.append(data)
            answer = self.answer(body)
            if answer is None:
                self._ended.wait(20)
                return
            step = 1 if self.pause else max(1, len(answer))
            try:
                for at in range(0, len(answer), step):
                    wire.sendall(answer[at : at + step])
                    if self._ended.wait(self.pause):
                        return
            except OSError:
                pass


def _length(data: bytes) -> int:
    return int(data.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or b"0")


def over_http(body: bytes) -> bytes:
    """Return *body* in a response."""
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/ocsp-response\r\n\r\n" + body
