"""Answers to challenges, against the formulas of RFC 7616 and RFC 2069."""

from __future__ import annotations

from hashlib import md5

import pytest

from whimbrel.verify.answer import Answer
from whimbrel.verify.digest_user import DIGEST, OLD_DIGEST, authorization
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD, Probe, ProbeUser

CHALLENGE = 'Digest realm="the realm", nonce="n1", algorithm=MD5, qop="auth", opaque="o1"'


def hashed(*parts: str) -> str:
    return md5(":".join(parts).encode()).hexdigest()


def answered(challenge: str, user: ProbeUser | None, target: str = "/a?b") -> str:
    challenged = Answer(401, (("WWW-Authenticate", challenge),))
    return authorization(Probe(target, method="PUT", user=user), challenged)


def fields(text: str) -> dict[str, str]:
    scheme, _, rest = text.partition(" ")
    assert scheme == "Digest"
    return {name: value.strip('"') for name, _, value in (part.partition("=") for part in rest.split(", "))}


@pytest.mark.parametrize(("is_valid", "password"), [(True, RIGHT_PASSWORD), (False, WRONG_PASSWORD)])
def test_the_answer_of_rfc_7616(is_valid: bool, password: str) -> None:
    given = fields(answered(CHALLENGE, ProbeUser("u", DIGEST, is_valid)))
    first, second = hashed("u", "the realm", password), hashed("PUT", "/a?b")
    assert given["response"] == hashed(first, "n1", given["nc"], given["cnonce"], "auth", second)
    assert len(given["nc"]) == 8 and int(given["nc"], 16) == 1
    assert {
        name: given[name] for name in ("username", "realm", "nonce", "uri", "qop", "opaque", "algorithm")
    } == {
        "username": "u",
        "realm": "the realm",
        "nonce": "n1",
        "uri": "/a?b",
        "qop": "auth",
        "opaque": "o1",
        "algorithm": "MD5",
    }


@pytest.mark.parametrize(
    ("challenge", "scheme"),
    [(CHALLENGE, OLD_DIGEST), ('digest realm="the realm",nonce=n1', DIGEST)],
)
def test_the_answer_of_rfc_2069(challenge: str, scheme: str) -> None:
    given = fields(answered(challenge, ProbeUser("u", scheme)))
    first, second = hashed("u", "the realm", RIGHT_PASSWORD), hashed("PUT", "/a?b")
    assert given["response"] == hashed(first, "n1", second)
    assert not {"qop", "nc", "cnonce"} & given.keys()


def test_what_takes_no_answer() -> None:
    assert answered('Basic realm="a"', ProbeUser("u", DIGEST)) == ""
    assert answered(CHALLENGE, None) == ""
