"""XML bodies: namespaces as APR numbers them, and what is refused.  Messages are recorded ones of httpd."""

from __future__ import annotations

import pytest

from whimbrel.modules.dav.mod_dav.xml_document import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    Document,
    XmlError,
    XmlReader,
    empty_element,
    inner_text,
    standalone,
)


def read(text: str) -> Document:
    """Return a complete document."""
    reader = XmlReader()
    reader.feed(text.encode())
    return reader.end()


def test_namespaces_and_values() -> None:
    document = read(
        '<D:x xmlns:D="DAV:" xmlns:z="http://z.example/ns" xml:lang="de">'
        '<z:p><z:inner a="b">t&amp;\u00fc</z:inner></z:p></D:x>'
    )
    assert document.namespaces == ["DAV:", "http://z.example/ns"]
    assert document.has_root("x")
    (child,) = document.root.children
    assert (document.uri(child), child.name, child.language) == ("http://z.example/ns", "p", "de")
    # what PROPFIND returned after PROPPATCH with this value
    assert inner_text(child, lambda n: n) == '<ns1:inner a="b">t&amp;\xc3\xbc</ns1:inner>'
    assert empty_element(child) == "<ns1:p/>\r\n"


def test_owner_declares_its_namespaces() -> None:
    document = read('<D:lockinfo xmlns:D="DAV:"><D:owner>me</D:owner></D:lockinfo>')
    found = standalone(document.root.children[0], document.namespaces)
    assert found == '<ns0:owner xmlns:ns0="DAV:">me</ns0:owner>'


def test_an_empty_namespace_is_none() -> None:
    document = read('<propfind xmlns="DAV:"><prop><nons xmlns=""/></prop></propfind>')
    assert document.namespaces == ["DAV:"]
    prop = document.root.child("prop")
    assert prop is not None
    assert empty_element(prop.children[0]) == "<nons/>\r\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE x [<!ENTITY e "y">]><x>&e;</x>', "XML parser error code: parsing aborted (35)"),
        ('<?xml version="1.0" encoding="bogus-enc"?><x/>', "XML parser error code: unknown encoding (18)"),
        ("<a><b></a>", "XML parser error code: mismatched tag (7)"),
        ('<D:a xmlns:D="DAV:"><x:y/></D:a>', "An undefined namespace prefix was used."),
    ],
)
def test_refused_documents(text: str, message: str) -> None:
    with pytest.raises(XmlError) as caught:
        XmlReader().feed(text.encode())
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["<", " ", "plain"])
def test_incomplete_documents_fail_at_their_end(text: str) -> None:
    reader = XmlReader()
    reader.feed(text.encode())
    with pytest.raises(XmlError):
        reader.end()


def test_bounds() -> None:
    for text in ("<a>" * (MAX_DEPTH + 1), "<a>" + "<b/>" * MAX_ELEMENTS):
        with pytest.raises(XmlError):
            XmlReader().feed(text.encode())
    bomb = '<!DOCTYPE a [<!ENTITY a "aa">' + "".join(
        f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};">' for n in range(1, 40)
    )
    with pytest.raises(XmlError):
        XmlReader().feed(f"{bomb}]><a>&a39;</a>".encode())
