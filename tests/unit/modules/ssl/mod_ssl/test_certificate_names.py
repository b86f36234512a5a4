"""Names of certificates as OpenSSL writes them."""

from __future__ import annotations

from _ssl import txt2obj

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography import x509
from cryptography.x509.oid import NameOID

from whimbrel.modules.ssl.mod_ssl.certificate_names import in_rfc_2253, with_slashes

OIDS = [
    *(value for value in vars(NameOID).values() if isinstance(value, x509.ObjectIdentifier)),
    *map(x509.ObjectIdentifier, ("2.5.4.13", "2.5.4.20", "2.5.4.41")),
]


def short_name(oid: str) -> str:
    """Return the short name that OpenSSL has for *oid*, else *oid* (OBJ_obj2nid, OBJ_nid2sn)."""
    try:
        return txt2obj(oid)[1]
    except ValueError:
        return oid


@pytest.mark.parametrize("oid", OIDS, ids=lambda oid: oid.dotted_string)
def test_attributes_have_the_short_names_of_openssl(oid: x509.ObjectIdentifier) -> None:
    name = x509.Name([x509.NameAttribute(oid, "DE")])
    label = short_name(oid.dotted_string)
    assert with_slashes(name) == f"/{label}=DE"
    if label != oid.dotted_string:
        assert in_rfc_2253(name) == f"{label}=DE"
