"""Sort the parts of a WebDAV multistatus (RFC 4918, 13), which httpd writes in the order of the directory."""

from __future__ import annotations

import re

_RESPONSE = rb"(?s:<D:response[ >].*?</D:response>)"
_DECLARATION = rb' xmlns:\w+="[^"]*"'
_BODY = re.compile(rb"(?s)(.*?)((?:" + _RESPONSE + rb"\n?)+)(.*)$")


def sort_multistatus(body: bytes) -> bytes:
    """Sort the responses and the namespace declarations of a multistatus; return any other body unchanged."""
    if b"multistatus" not in body[:400] and b"<D:" not in body[:200]:
        return body
    body = re.sub(_RESPONSE, lambda found: _renumber(found[0], b"g"), body)
    body = _renumber(body, b"ns")
    body = re.sub(
        rb"(?:" + _DECLARATION + rb")+",
        lambda found: b"".join(sorted(re.findall(_DECLARATION, found[0]))),
        body,
    )
    parts = _BODY.match(body)
    if parts is None:
        return body
    return parts[1] + b"".join(sorted(re.findall(_RESPONSE + rb"\n?", parts[2]))) + parts[3]


def _renumber(body: bytes, prefix: bytes) -> bytes:
    """Number the namespace prefixes ``ns0``, ``ns1`` ... in the order of their URIs."""
    prefixes: dict[bytes, set[bytes]] = {}
    for name, uri in re.findall(rb"xmlns:(" + prefix + rb'\d+)="([^"]*)"', body):
        prefixes.setdefault(uri, set()).add(name)
    new = {
        name: prefix + b"%d" % number for number, uri in enumerate(sorted(prefixes)) for name in prefixes[uri]
    }
    name = prefix + rb"\d+"
    return re.sub(
        rb"(?<=xmlns:)" + name + rb"(?==)|(?<=<)" + name + rb"(?=:)|(?<=</)" + name + rb"(?=:)",
        lambda found: new.get(found[0], found[0]),
        body,
    )
