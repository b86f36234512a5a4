"""XML bodies of requests: a bounded reader with httpd's treatment of namespaces, and the text of elements.

Texts are UTF-8 with one character per byte.  Entity declarations are refused, so nothing expands.  The size
is bounded by LimitXMLRequestBody, depth and number of elements here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pyexpat import ErrorString, ExpatError, ParserCreate
from typing import Any, Final

from whimbrel.base.numbers import lower
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import Refusal
from whimbrel.modules.dav.mod_dav.multistatus import quote

DAV: Final = 0  # index of "DAV:" among the namespaces of a document
NONE: Final = -1  # an element or attribute without namespace
MAX_DEPTH: Final = 256  # httpd's
MAX_ELEMENTS: Final = 20_000
_ABORTED: Final = 35  # expat's XML_ERROR_ABORTED
_UNKNOWN_ENCODING: Final = 18  # XML_ERROR_UNKNOWN_ENCODING
# those of expat itself; Python would add its own single-byte encodings, and raise for others
_ENCODINGS: Final = frozenset(("iso-8859-1", "us-ascii", "utf-8", "utf-16", "utf-16be", "utf-16le"))


class XmlElement:
    """An element; *namespace* is an index of the document's namespaces, or NONE.

    Attributes:
        language: xml:lang of the element or its next ancestor with one, None without.
        text: the text before the first child; `tail`: the text after the element.
    """

    __slots__ = ("attributes", "children", "language", "name", "namespace", "parent_language", "tail", "text")

    def __init__(self, name: str, namespace: int, language: str | None, parent_language: str | None) -> None:
        self.name = name
        self.namespace = namespace
        self.language = language
        self.parent_language = parent_language
        self.attributes: Sequence[tuple[int, str, str]] = ()
        self.children: list[XmlElement] = []
        self.text = ""
        self.tail = ""

    def child(self, name: str) -> XmlElement | None:
        """Return the first child DAV:*name*."""
        return next((c for c in self.children if c.name == name and c.namespace == DAV), None)

    def dav_attribute(self, name: str) -> str | None:
        """Return the value of the attribute DAV:*name*."""
        return next((value for space, n, value in self.attributes if n == name and space == DAV), None)


class Document:
    """A request body: the root and the URIs of all namespaces, "DAV:" first, quoted for attributes."""

    __slots__ = ("namespaces", "root")

    def __init__(self) -> None:
        self.namespaces = ["DAV:"]
        self.root = XmlElement("", NONE, None, None)

    def has_root(self, name: str) -> bool:
        """Return True if the root is DAV:*name*."""
        return self.root.namespace == DAV and self.root.name == name

    def uri(self, element: XmlElement) -> str:
        """Return the URI of the namespace of *element*, "" without one."""
        return self.namespaces[element.namespace] if element.namespace >= 0 else ""


class XmlError(Exception):
    """The document is not well formed or beyond a bound; the text is httpd's."""


class _Stop(Exception):
    """Ends the parser; *text* describes the failure."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _described(code: int) -> str:
    """Return the text of an error of expat."""
    return f"XML parser error code: {ErrorString(code)} ({code})"


def _octets(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


class XmlReader:
    """Reader of one document: `feed` pieces, then `end`.  Both raise XmlError."""

    __slots__ = ("_count", "_numbers", "_open", "_parser", "_prefixes", "_scopes", "document")

    def __init__(self) -> None:
        self.document = Document()
        self._open: list[XmlElement] = []
        self._numbers = {uri: number for number, uri in enumerate(self.document.namespaces)}
        self._scopes: list[dict[str, int]] = []  # the prefixes that each open element declares
        self._prefixes: dict[str, list[int]] = {}  # namespaces of a prefix, the innermost declaration last
        self._count = 0
        parser: Any = ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._close
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._entity
        parser.XmlDeclHandler = self._declaration
        self._parser: Any = parser

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        self._parse(data, False)

    def end(self) -> Document:
        """Return the complete document."""
        self._parse(b"", True)
        return self.document

    def release(self) -> None:
        """Let the parser go: it refers to this reader, and would keep the document."""
        self._parser = None

    def _parse(self, data: bytes, is_last: bool) -> None:
        try:
            self._parser.Parse(data, is_last)
        except ExpatError as problem:
            raise XmlError(_described(problem.code)) from None
        except _Stop as stop:
            raise XmlError(stop.text) from None

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and lower(encoding) not in _ENCODINGS:
            raise _Stop(_described(_UNKNOWN_ENCODING))

    def _entity(self, *_declaration: object) -> None:
        raise _Stop(_described(_ABORTED))

    def _start(self, name: str, attributes: list[str]) -> None:
        self._count += 1
        if len(self._open) >= MAX_DEPTH:
            raise _Stop(f"The maximum element nesting limit ({MAX_DEPTH}) was exceeded.")
        if self._count > MAX_ELEMENTS:
            raise _Stop("The document has too many elements.")
        parent = self._open[-1] if self._open else None
        above = parent.language if parent is not None else None
        scope: dict[str, int] = {}
        language = above
        others = []
        for at in range(len(attributes) - 2, -2, -2):  # httpd numbers the last declaration first
            key = attributes[at]
            value = _octets(attributes[at + 1])
            if key == "xmlns" or key.startswith("xmlns:"):
                scope[key[6:]] = self._declared(value)
            elif key == "xml:lang":
                language = value
            else:
                others.append((key, value))
        self._scopes.append(scope)
        for prefix, number in scope.items():
            self._prefixes.setdefault(prefix, []).append(number)
        element = XmlElement(*self._qualified(name, is_element=True), language, above)
        element.attributes = [(*self._qualified(key)[::-1], value) for key, value in others]
        if parent is None:
            self.document.root = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _declared(self, value: str) -> int:
        """Return the number of the namespace *value*, which may be new; NONE for the empty one."""
        if not value:
            return NONE
        uri = quote(value, quotes=True)
        number = self._numbers.setdefault(uri, len(self._numbers))
        if number == len(self.document.namespaces):
            self.document.namespaces.append(uri)
        return number

    def _namespace(self, prefix: str) -> int | None:
        """Return the number of the namespace that *prefix* stands for; None if it is undefined."""
        numbers = self._prefixes.get(prefix)
        return numbers[-1] if numbers else None

    def _qualified(self, name: str, *, is_element: bool = False) -> tuple[str, int]:
        """Return the local name and the namespace; names that begin with ``xml`` are reserved."""
        prefix, colon, local = name.partition(":")
        if not colon:
            number = self._namespace("") if is_element else None
            return _octets(name), NONE if number is None else number
        if name[:3].lower() == "xml":
            return _octets(name), NONE
        number = self._namespace(prefix)
        if number is None or number == NONE:
            raise _Stop("An undefined namespace prefix was used.")
        return _octets(local), number

    def _close(self, _name: str) -> None:
        self._open.pop()
        for prefix in self._scopes.pop():
            self._prefixes[prefix].pop()

    def _text(self, text: str) -> None:
        element = self._open[-1]
        if element.children:
            element.children[-1].tail += _octets(text)
        else:
            element.text += _octets(text)


async def read_document(r: Request) -> Document | None:
    """Return the XML body of *r*, None without a body; raise Refusal after logging the reason."""
    limit = r.dir_config(CoreDirConfig).limit_xml_body
    body = r.body_in
    if (body.length or 0) > limit:
        _refuse_size(r, limit)
    body.check_announced()
    first = await body.read()
    if not first:
        return None
    reader = XmlReader()
    try:
        return await _read_all(r, reader, first, limit)
    finally:
        reader.release()


async def _read_all(r: Request, reader: XmlReader, data: bytes, limit: int) -> Document:
    """Return the document that begins with *data*; see `read_document`."""
    total = 0
    while data:
        total += len(data)
        if total > limit:
            _refuse_size(r, limit)
        try:
            reader.feed(data)
        except XmlError as problem:
            r.log("error", f"XML Parser Error: {problem}", code="AH00541")
            raise Refusal(400) from None
        data = await r.body_in.read()
    try:
        return reader.end()
    except XmlError:
        r.log("error", "XML parser error (at end). status=20014", code="AH00540")
        raise Refusal(400) from None


def _refuse_size(r: Request, limit: int) -> None:
    r.log("error", f"XML request body is larger than the configured limit of {limit}", code="AH00539")
    raise Refusal(413)


def _name(name: str, namespace: int) -> str:
    return name if namespace < 0 else f"ns{namespace}:{name}"


def empty_element(element: XmlElement) -> str:
    """Return the element without attributes and content, with APR's line break."""
    return f"<{_name(element.name, element.namespace)}/>\r\n"


def inner_text(element: XmlElement, number: Callable[[int], int]) -> str:
    """Return the content of *element* as XML; *number* maps namespaces to the numbers of prefixes."""
    parts = [quote(element.text)]
    rest: list[XmlElement | str] = list(reversed(element.children))  # elements, and ends of open ones
    while rest:
        each = rest.pop()
        if isinstance(each, str):
            parts.append(each)
            continue
        name = _name(each.name, number(each.namespace) if each.namespace >= 0 else NONE)
        parts.append(_start_tag(each, name, number))
        if each.text or each.children:
            parts.append(f">{quote(each.text)}")
            rest.append(f"</{name}>{quote(each.tail)}")
            rest += reversed(each.children)
        else:
            parts.append(f"/>{quote(each.tail)}")
    return "".join(parts)


def _start_tag(element: XmlElement, name: str, number: Callable[[int], int]) -> str:
    """Return the start tag without its end."""
    tag = f"<{name}" + "".join(
        f' {_name(key, number(space) if space >= 0 else NONE)}="{quote(value, quotes=True)}"'
        for space, key, value in element.attributes
    )
    if element.language is not None and element.language != element.parent_language:
        tag += f' xml:lang="{quote(element.language, quotes=True)}"'
    return tag


def standalone(element: XmlElement, namespaces: Sequence[str]) -> str:
    """Return *element* as XML that stands for itself: it declares all *namespaces* and its language."""
    name = _name(element.name, element.namespace)
    head = name + "".join(
        f' {_name(key, space)}="{quote(value, quotes=True)}"' for space, key, value in element.attributes
    )
    if element.language is not None:
        head += f' xml:lang="{quote(element.language, quotes=True)}"'
    head += "".join(f' xmlns:ns{index}="{namespaces[index]}"' for index in range(len(namespaces) - 1, -1, -1))
    inner = inner_text(element, lambda index: index)
    return f"<{head}>{inner}</{name}>" if inner else f"<{head}/>"
