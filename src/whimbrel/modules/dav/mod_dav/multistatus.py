"""Multistatus bodies (RFC 4918, 13), with httpd's prefixes and line breaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.semantics.status import status_line
from whimbrel.http.syntax.url import escape_uri

XML_HEADER: Final = '<?xml version="1.0" encoding="utf-8"?>\n'
END: Final = "</D:multistatus>\n"
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_XML_QUOTED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """The status of one resource of a multistatus response.

    Attributes:
        uri: the decoded path of its URL.
        description: text for people, "" for none.
        propstats: complete <D:propstat> elements, which replace the status.
    """

    uri: str
    status: int
    description: str = ""
    propstats: str = ""


def quote(text: str, *, quotes: bool = False) -> str:
    """Escape the characters that end text in XML; *quotes*: in an attribute."""
    return text.translate(_XML_QUOTED if quotes else _XML)


def begin(namespaces: Sequence[str] = ()) -> str:
    """Return the start of a multistatus body that declares the namespaces of a request body."""
    declared = "".join(
        f' xmlns:ns{index}="{namespaces[index]}"' for index in range(len(namespaces) - 1, -1, -1)
    )
    return f'{XML_HEADER}<D:multistatus xmlns:D="DAV:"{declared}>\n'


def response(uri: str, propstats: str, declared: str = "") -> str:
    """Return the <D:response> with the properties of one resource; *declared* are its namespaces."""
    link = escape_uri(uri)
    if "&" in link:
        link = quote(link)
    return linked_response(link, propstats, declared)


def linked_response(link: str, propstats: str, declared: str) -> str:
    """Return the same for *link*, a URL that is escaped and quoted."""
    return f"<D:response{declared}>\n<D:href>{link}</D:href>\n{propstats}</D:response>\n"


def multistatus(statuses: Iterable[ResourceStatus], *, version22: bool = False) -> str:
    """Return the complete body about *statuses*."""
    parts = [begin()]
    for each in statuses:
        inner = each.propstats
        if not inner:
            inner = f"<D:status>HTTP/1.1 {status_line(each.status, version22=version22)}</D:status>\n"
        if each.description:
            inner += f"<D:responsedescription>{each.description}</D:responsedescription>\n"
        parts.append(response(each.uri, inner))
    return "".join((*parts, END))
