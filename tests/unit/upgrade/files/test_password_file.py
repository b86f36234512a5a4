"""Entries of password files, in the forms that programs/htpasswd.html and crypt(5) give."""

from __future__ import annotations

import pytest

from whimbrel.upgrade.files.password_file import HashKind, examine, hash_kind


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("$apr1$Gk5vQGxE$bTdwGcTp2iHUBqVAE0Mog0", HashKind.APR1),
        ("$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC", HashKind.BCRYPT),
        ("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", HashKind.SHA1),
        ("$6$saltsalt$bZ9UQzVzkxoGbA1ZcAkJQm", HashKind.CRYPT),
        ("rqXexS6ZhobKA", HashKind.DES),
        ("rqXexS6ZhobKA:a comment", HashKind.DES),
        ("a realm:d41d8cd98f00b204e9800998ecf8427e", HashKind.DIGEST),
        ("secret", HashKind.UNKNOWN),
        ("", HashKind.UNKNOWN),
    ],
)
def test_kinds(rest: str, wanted: HashKind) -> None:
    assert hash_kind(rest) is wanted


def test_good_entries_are_not_told() -> None:
    assert not list(examine("# users\n\na:$apr1$Gk5vQGxE$bTdwGcTp2iHUBqVAE0Mog0\r\n", "f"))


def test_each_bad_entry_is_told_and_all_old_ones_once() -> None:
    found = list(
        examine(
            "a:secret\nb:rqXexS6ZhobKA\nc:rqXexS6ZhobKA\nnocolon\na:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", "f"
        )
    )
    assert [(finding.place.line, finding.rule) for finding in found] == [
        (1, "C48"),
        (4, "C48"),
        (5, "C48"),
        (2, "C48"),
    ]
    assert "2 entries" in found[-1].message


def test_one_user_may_have_several_realms() -> None:
    line = "a:one:d41d8cd98f00b204e9800998ecf8427e\n"
    assert not list(examine(line + line.replace("one", "two"), "f"))


def test_the_password_of_a_certificate_stays() -> None:
    """mod_ssl of both versions: FakeBasicAuth takes the name in the certificate, and one password."""
    text = "/C=DE/O=Verlag/CN=kunde:xxj31ZMTZzkVA\nemil:xxj31ZMTZzkVA\n"
    for has_certificates in (True, False):
        fake, weak = examine(text, "/users", has_certificates=has_certificates)
        assert (fake.place.line, weak.place.line) == (1, 2)
        assert "must stay" in fake.message and "do nothing" in fake.advice
        assert "set new passwords" in weak.advice
    own = "/C=DE/CN=kunde:abj31ZMTZzkVA\n"
    (other,) = examine(own, "/users")
    assert "set new passwords" in other.advice
    (of_server,) = examine(own, "/users", has_certificates=True)
    assert "must stay" in of_server.message
