"""Digest authentication of a probe: the answer to the challenge of the same server (RFC 7616, RFC 2069)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import md5
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.verify.answer import Answer
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD, Probe

DIGEST: Final = "digest"
OLD_DIGEST: Final = "digest without qop"
"""The scheme of a client that knows RFC 2069 only."""
_PARAMETER: Final = re.compile(r'(?<!\w)(\w++)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')
_COUNT: Final = "00000001"
_CLIENT_NONCE: Final = "0123456789abcdef"


def by_digest(probe: Probe) -> Probe:
    """Return *probe* with a user who answers challenges of Digest."""
    return probe if probe.user is None else replace(probe, user=replace(probe.user, scheme=DIGEST))


def wants_digest(challenges: Sequence[str]) -> bool:
    """Return True if all *challenges*, values of WWW-Authenticate, ask for Digest."""
    return bool(challenges) and all(value[:7].lower() == "digest " for value in challenges)


def authorization(probe: Probe, challenged: Answer) -> str:
    """Return the Authorization field with which *probe* answers a challenge; "" if there is none."""
    user = probe.user
    challenges = [value for value in challenged.field("www-authenticate") if value[:7].lower() == "digest "]
    if user is None or not challenges:
        return ""
    given = {found[1].lower(): found[2] or found[3] or "" for found in _PARAMETER.finditer(challenges[0])}
    secret = RIGHT_PASSWORD if user.is_password_valid else WRONG_PASSWORD
    realm = given.get("realm", "")
    nonce = given.get("nonce", "")
    first = _hash(f"{user.name}:{realm}:{secret}")
    second = _hash(f"{probe.method}:{probe.target}")
    fields = {"username": user.name, "realm": realm, "nonce": nonce, "uri": probe.target}
    if user.scheme == OLD_DIGEST or "qop" not in given:
        fields["response"] = _hash(f"{first}:{nonce}:{second}")
        text = ", ".join(f'{name}="{value}"' for name, value in fields.items())
    else:
        fields |= {
            "cnonce": _CLIENT_NONCE,
            "response": _hash(f"{first}:{nonce}:{_COUNT}:{_CLIENT_NONCE}:auth:{second}"),
        }
        text = ", ".join(f'{name}="{value}"' for name, value in fields.items()) + f", nc={_COUNT}, qop=auth"
    if "opaque" in given:
        text += f', opaque="{given["opaque"]}"'
    if "algorithm" in given:
        text += f", algorithm={given['algorithm']}"
    return f"Digest {text}"


def _hash(text: str) -> str:
    return md5(to_bytes(text), usedforsecurity=False).hexdigest()
