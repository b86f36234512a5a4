"""XML bodies: namespaces as APR numbers them, and what is refused.  Messages are recorded ones of httpd."""

from __future__ import annotations

from time import thread_time

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


@pytest.mark.parametrize("name", ["utf-7", "ISO-8859-2", "shift_jis", "cp1252", "utf8", "latin1", "ascii"])
def test_encodings_that_python_alone_knows_are_refused(name: str) -> None:
    """As recorded from 2.4.71, which has no encodings but those of expat."""
    with pytest.raises(XmlError) as caught:
        read(f'<?xml version="1.0" encoding="{name}"?><x/>')
    assert str(caught.value) == "XML parser error code: unknown encoding (18)"


@pytest.mark.parametrize("name", ["iso-8859-1", "us-ascii", "Utf-8"])
def test_encodings_of_expat_are_read(name: str) -> None:
    root = read(f'<?xml version="1.0" encoding="{name}"?><x/>').root
    assert root is not None
    assert root.name == "x"


@pytest.mark.parametrize("text", ["<", " ", "plain"])
def test_incomplete_documents_fail_at_their_end(text: str) -> None:
    reader = XmlReader()
    reader.feed(text.encode())
    with pytest.raises(XmlError):
        reader.end()


def test_the_time_grows_with_the_size() -> None:
    """A body of a megabyte has 40,000 declarations, or an element of many scopes in each of 19,000."""
    declared = "".join(f' xmlns:p{number}="u{number}"' for number in range(40_000))
    children = '<a xmlns="urn:a"/>' * 19_000
    begin = thread_time()
    assert len(read(f"<x{declared}/>").namespaces) == 40_001
    assert len(read(f"<x{declared}>{children}</x>").root.children) == 19_000
    assert thread_time() - begin < 4


def test_a_prefix_is_that_of_the_nearest_element() -> None:
    document = read('<x xmlns:p="u1"><p:a xmlns:p="u2"><p:b/></p:a><p:c/></x>')
    outer, last = document.root.children
    assert [document.uri(each) for each in (outer, outer.children[0], last)] == ["u2", "u2", "u1"]


def test_elements_of_the_greatest_depth_are_written() -> None:
    text = "<a>" * (MAX_DEPTH - 1) + "t" + "</a>" * (MAX_DEPTH - 1)
    assert inner_text(read(f"<x>{text}</x>").root, lambda number: number) == text


def test_bounds() -> None:
    with pytest.raises(XmlError, match=r"^The maximum element nesting limit \(256\) was exceeded\.$"):
        XmlReader().feed(b"<a>" * 257)
    for text in ("<a>" * (MAX_DEPTH + 1), "<a>" + "<b/>" * MAX_ELEMENTS):
        with pytest.raises(XmlError):
            XmlReader().feed(text.encode())
    bomb = '<!DOCTYPE a [<!ENTITY a "aa">' + "".join(
        f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};">' for n in range(1, 40)
    )
    with pytest.raises(XmlError):
        XmlReader().feed(f"{bomb}]><a>&a39;</a>".encode())


def test_prefixes_end_with_their_elements() -> None:
    text = '<p:a xmlns:p="one"><p:b xmlns:p="two"><p:c/></p:b><p:d/></p:a>'
    document = read(text)
    assert document.root is not None
    inner, last = document.root.children
    numbers = [document.root.namespace, inner.namespace, inner.children[0].namespace, last.namespace]
    assert [document.namespaces[number] for number in numbers] == ["one", "two", "two", "one"]
    with pytest.raises(XmlError, match="undefined namespace prefix"):
        read('<a><p:b xmlns:p="one"/><p:c/></a>')


def test_time_for_many_attributes_in_deep_elements() -> None:
    def seconds(depth: int) -> float:
        opened = "".join(f"<e xmlns:p{number}='u'>" for number in range(depth))
        attributes = "".join(f" p0:a{number}=''" for number in range(20_000))
        text = f"{opened}<x{attributes}/>" + "</e>" * depth
        begun = thread_time()
        read(text)
        return thread_time() - begun

    shallow = min(seconds(1) for _ in range(3))
    assert min(seconds(MAX_DEPTH - 1) for _ in range(3)) < 3 * shallow
