"""Bodies and If fields of DAV requests: XmlError and DavError alone; any split gives the same document."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from tests.fuzz.push import same_for_all_splits
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.if_header import parse
from whimbrel.modules.dav.mod_dav.locks import parse_token
from whimbrel.modules.dav.mod_dav.xml_document import (
    XmlElement,
    XmlError,
    XmlReader,
    empty_element,
    inner_text,
    standalone,
)

COVERED = ("modules/dav/mod_dav/if_header.py",)
TOKENS = (
    b"<D:propfind xmlns:D='DAV:'>",
    b"</D:propfind>",
    b"<a/>",
    b"&amp;",
    b"<![CDATA[",
    b"]]>",
    b"<?xml version='1.0' encoding='latin1'?>",
    b"<!DOCTYPE a [",
    b"<!ENTITY",
    b"xml:lang='en'",
    b"(<opaquelocktoken:",
    b">)",
    b'["etag"]',
    b"Not ",
    b"<http://a/b>",
    b"&#x41;",
)


def seeds() -> Sequence[bytes]:
    fields = recorded.fields("If", "modules-dav")
    return [
        *recorded.few(recorded.bodies("modules-dav")),
        *recorded.few(fields, 20),
        b'(<opaquelocktoken:00000000-0000-0000-0000-000000000000> ["a"] Not <DAV:no-lock>)',
        b'<http://a.test/x%20y> ([W/"a"]) </b> (<DAV:no-lock>)',
        b'<?xml version="1.0" encoding="utf-16"?><a/>',
        b'<a xmlns="DAV:" xmlns:x="u"><x:b xml:lang="de" x:c="d">t&lt;&#228;</x:b><![CDATA[x]]></a>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    ]


def run(data: bytes) -> None:
    def outcome(pieces: list[bytes]) -> object:
        reader = XmlReader()
        try:
            for piece in pieces:
                reader.feed(piece)
            document = reader.end()
        except XmlError:
            return "refused"  # the reason may depend on the pieces
        finally:
            reader.release()
        root = document.root
        assert isinstance(root, XmlElement)
        return (
            standalone(root, document.namespaces),
            inner_text(root, lambda number: number),
            empty_element(root),
        )

    if b"\0" not in data[:2]:  # expat takes UTF-16 without a mark from the first two bytes, if both are there
        same_for_all_splits(outcome, data)
    with contextlib.suppress(DavError):
        parse(data.decode("latin-1"), parse_token)
