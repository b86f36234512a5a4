"""OCSP requests for one certificate, and what a response says about it (RFC 6960)."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, Hash
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

NONCE_SIZE: Final = 16


class UnreadableResponse(Exception):
    """A response that cannot be read."""


def build(certificate: x509.Certificate, issuer: x509.Certificate, *, has_nonce: bool) -> ocsp.OCSPRequest:
    """Return a request for the status of *certificate*."""
    builder = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, SHA1())
    if has_nonce:
        builder = builder.add_extension(x509.OCSPNonce(os.urandom(NONCE_SIZE)), critical=False)
    return builder.build()


def encoded(request: ocsp.OCSPRequest) -> bytes:
    """Return a request in DER."""
    return request.public_bytes(Encoding.DER)


def parse(data: bytes) -> ocsp.OCSPResponse:
    """Return a response; raises UnreadableResponse."""
    try:
        return ocsp.load_der_ocsp_response(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnreadableResponse from None


def is_successful(response: ocsp.OCSPResponse) -> bool:
    """Return True if the responder has answered the question."""
    return response.response_status is ocsp.OCSPResponseStatus.SUCCESSFUL


def single(response: ocsp.OCSPResponse, request: ocsp.OCSPRequest) -> ocsp.OCSPSingleResponse | None:
    """Return what a response says about the certificate of *request*; raises UnreadableResponse."""
    try:
        for one in response.responses:
            if (one.serial_number, one.issuer_name_hash, one.issuer_key_hash) == (
                request.serial_number,
                request.issuer_name_hash,
                request.issuer_key_hash,
            ):
                return one
    except (ValueError, UnsupportedAlgorithm):
        raise UnreadableResponse from None
    return None


def is_valid_now(one: ocsp.OCSPSingleResponse, skew: int, max_age: int) -> bool:
    """Return True if a status holds at present (OCSP_check_validity); no *max_age* below 0."""
    now = datetime.now(UTC)
    slack = timedelta(seconds=skew)
    begin = one.this_update_utc
    end = one.next_update_utc
    if begin > now + slack or (max_age >= 0 and begin < now - timedelta(seconds=max_age)):
        return False
    return end is None or (end >= now - slack and end >= begin)


def has_nonce_of(response: ocsp.OCSPResponse, request: ocsp.OCSPRequest) -> bool:
    """Return True if the response repeats the nonce of *request*."""
    try:
        sent = request.extensions.get_extension_for_class(x509.OCSPNonce).value.nonce
        return response.extensions.get_extension_for_class(x509.OCSPNonce).value.nonce == sent
    except (x509.ExtensionNotFound, ValueError):
        return False


def responder_urls(certificate: x509.Certificate) -> list[str]:
    """Return the URLs of responders that a certificate names."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return [
        str(each.access_location.value)
        for each in found
        if each.access_method == AuthorityInformationAccessOID.OCSP
        and isinstance(each.access_location, x509.UniformResourceIdentifier)
    ]


def is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return True if *issuer* has signed *certificate*."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


# who has signed a response ------------------------------------------------------------------------
def is_authentic(
    response: ocsp.OCSPResponse, issuer: x509.Certificate, trusted: list[x509.Certificate]
) -> bool:
    """Return True if a successful response is signed by the issuer of the certificate, by a responder that it
    has appointed, or by a *trusted* certificate (OCSP_basic_verify).
    """
    try:
        present = [*trusted, issuer, *response.certificates]
        signer = next((one for one in present if _is_named(response, one)), None)
        if signer is None or not _has_signed(response, signer):
            return False
        return signer in trusted or signer == issuer or _is_appointed(signer, issuer)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def _is_named(response: ocsp.OCSPResponse, certificate: x509.Certificate) -> bool:
    if response.responder_name is not None:
        return response.responder_name == certificate.subject
    return (
        response.responder_key_hash
        == x509.SubjectKeyIdentifier.from_public_key(certificate.public_key()).digest
    )


def _is_appointed(signer: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return True if *signer* is a valid certificate of *issuer* for the signature of responses."""
    now = datetime.now(UTC)
    if not signer.not_valid_before_utc <= now <= signer.not_valid_after_utc:
        return False
    try:
        usage = signer.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return ExtendedKeyUsageOID.OCSP_SIGNING in usage and is_issued_by(signer, issuer)


def _has_signed(response: ocsp.OCSPResponse, signer: x509.Certificate) -> bool:
    key = signer.public_key()
    signature = response.signature
    data = response.tbs_response_bytes
    algorithm = response.signature_hash_algorithm
    try:
        if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
            key.verify(signature, data)
        elif algorithm is None:
            return False
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, data, ec.ECDSA(algorithm))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def fingerprint(der: bytes) -> bytes:
    """Return the key of a certificate in caches."""
    digest = Hash(SHA1())
    digest.update(der)
    return digest.finalize()
