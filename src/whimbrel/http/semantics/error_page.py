"""httpd's canned error pages, sent where no ErrorDocument applies.

The texts differ between 2.2, which includes the URL, and 2.4, which does not.  They are interface: programs
and people match them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.semantics.status import status_line
from whimbrel.http.syntax.url import escape_html

DOCTYPE_22: Final = '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">'
DOCTYPE_24: Final = (
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """Values of an error page; every text is as httpd stores it, not yet escaped for HTML unless noted.

    Attributes:
        line: a status line that a module set instead of the code's own.
        uri: the decoded path (2.2 shows it).
        location: the target of a redirect.
        notes: the note ``error-notes`` (HTML); the whole text of a 500 page if *verbose* is set (the note
            ``verbose-error-to`` is ``*``).
        variants: the note ``variant-list`` (HTML).
        expect: the Expect field.
        additional: the status of the first failure, if the ErrorDocument failed too: a sentence with its
            line is added.
        signature: the result of `signature`.
    """

    status: int
    line: str = ""
    method: str = "GET"
    uri: str = ""
    location: str | None = None
    notes: str = ""
    verbose: bool = False
    variants: str = ""
    expect: str | None = None
    additional: int = 0
    admin: str = ""
    signature: str = ""


Text = Callable[[ErrorPage, str], str]  # (page, the escaped path for 2.2 or "" for 2.4) -> HTML


def error_page(page: ErrorPage, *, version22: bool = False, doctype: str = "") -> str:
    """Return the whole page, as text of one character per byte."""
    line = page.line if len(page.line) > 4 else status_line(page.status, version22=version22)
    words = _canned(page, version22)
    more = ""
    if page.additional:
        more = (
            f"<p>Additionally, a {status_line(page.additional, version22=version22)}\n"
            "error was encountered while trying to use an ErrorDocument to handle the request.</p>\n"
        )
    return (
        f"{doctype or (DOCTYPE_22 if version22 else DOCTYPE_24)}\n<html><head>\n<title>{line}</title>\n"
        f"</head><body>\n"
        f"<h1>{line[4:]}</h1>\n{words}{more}{page.signature}</body></html>\n"
    )


def is_request_independent(status: int, *, version22: bool) -> bool:
    """Return True if the page depends on nothing but *line*, *notes*, *additional* and *signature*."""
    return status in _SAME or (not version22 and status in _ALIKE_24)


def signature(mode: str, product: str, host: str, port: int, admin: str = "", prefix: str = "<hr>\n") -> str:
    """Return the last lines of a generated page for ServerSignature *mode* (``Off``, ``On``, ``EMail``);
    *product* is what ServerTokens leaves, *prefix* stands before the signature.
    """
    low = mode.lower()
    if low == "off":
        return ""
    name = escape_html(host)
    if low == "email":
        name = f'<a href="mailto:{escape_html(admin)}">{name}</a>'
    return f"{prefix}<address>{product} Server at {name} Port {port}</address>\n"


def _canned(page: ErrorPage, version22: bool) -> str:
    words = _SAME.get(page.status)
    if words is not None:
        return words
    text = (_WORDS_22 if version22 else _WORDS_24).get(page.status) or _WORDS.get(page.status)
    if text is None:
        return _misfortune(page, version22)
    return text(page, escape_html(page.uri) if version22 else "")


def _moved(page: ErrorPage, _uri: str) -> str:
    return f'<p>The document has moved <a href="{escape_html(page.location or "")}">here</a>.</p>\n'


def _expectation(page: ErrorPage, _uri: str) -> str:
    if page.expect is None:
        seen = (
            "<p>No expectation was seen, the Expect request-header \n"
            "field was not presented by the client.\n</p>"
        )
    else:
        seen = (
            "<p>The expectation given in the Expect request-header\n"
            "field could not be met by this server.\nThe client sent<pre>\n"
            f"    Expect: {escape_html(page.expect)}\n</pre>\n</p>"
        )
    return seen + "<p>Only the 100-continue expectation is supported.</p>\n"


def _not_acceptable(page: ErrorPage, uri: str) -> str:
    named = f" {uri}" if uri else ""
    return (
        f"<p>An appropriate representation of the requested resource{named} could not be found on this "
        f"server.</p>\n{page.variants}"
    )


def _gone(_page: ErrorPage, uri: str) -> str:
    named = f"<br />{uri}<br />\n" if uri else " "
    return (
        f"<p>The requested resource{named}is no longer available on this server and there is no forwarding "
        f"address.\n"
        "Please remove all references to this resource.</p>\n"
    )


def _precondition(_page: ErrorPage, uri: str) -> str:
    return (
        f"<p>The precondition on the request for {'the URL ' + uri if uri else 'this URL'} evaluated to "
        f"false.</p>\n"
    )


def _too_large(page: ErrorPage, uri: str) -> str:
    named = f"<br />{uri}<br />\n" if uri else " "
    return (
        f"The requested resource{named}does not allow request data with {escape_html(page.method)} requests, "
        "or the amount of data provided in\nthe request exceeds the capacity limit.\n"
    )


_INTERNAL = (
    "<p>The server encountered an internal error or\nmisconfiguration and was unable to complete\n"
    "your request.</p>\n"
)
_LOGGED = "<p>More information about this error may be available\nin the server error log.</p>\n"


def _misfortune(page: ErrorPage, version22: bool) -> str:
    if page.verbose and page.notes:
        return page.notes + "<p />\n"
    admin = escape_html(page.admin or NO_ADMIN)
    words = (
        f"administrator,\n {admin} and inform them of the time the error occurred,\n"
        "and anything you might have done that may have\ncaused the error."
        if version22
        else f"administrator at \n {admin} to inform them of the time this error occurred,\n"
        " and the actions you performed just before this error."
    )
    return f"{_INTERNAL}<p>Please contact the server {words}</p>\n{_LOGGED}"


_ALIKE_24: Final = frozenset((403, 404, 410, 412))
NO_ADMIN: Final = "[no address given]"

_AUTH = (
    "<p>This server could not verify that you\nare authorized to access the document\n"
    "requested.  Either you supplied the wrong\n"
    "credentials (e.g., bad password), or your\nbrowser doesn't understand how to supply\n"
    "the credentials required.</p>\n"
)

_SAME: Final = MappingProxyType(
    {
        204: "",
        401: _AUTH,
        407: _AUTH,
        408: "<p>Server timeout waiting for the HTTP request from the client.</p>\n",
        415: (
            "<p>The supplied request data is not in a format\n"
            "acceptable for processing by this resource.</p>\n"
        ),
        416: (
            "<p>None of the range-specifier values in the Range\n"
            "request-header field overlap the current extent\nof the selected resource.</p>\n"
        ),
        421: (
            "<p>The client needs a new connection for this\n"
            "request as the requested host name does not match\n"
            "the Server Name Indication (SNI) in use for this\nconnection.</p>\n"
        ),
        422: (
            "<p>The server understands the media type of the\n"
            "request entity, but was unable to process the\ncontained instructions.</p>\n"
        ),
        423: (
            "<p>The requested resource is currently locked.\n"
            "The lock must be released or proper identification\n"
            "given before the method can be applied.</p>\n"
        ),
        424: (
            "<p>The method could not be performed on the resource\n"
            "because the requested action depended on another\n"
            "action and that other action failed.</p>\n"
        ),
        426: (
            "<p>The requested resource can only be retrieved\n"
            "using SSL.  The server is willing to upgrade the current\n"
            "connection to SSL, but your client doesn't support it.\n"
            "Either upgrade your client, or try requesting the page\nusing https://\n"
        ),
        428: "<p>The request is required to be conditional.</p>\n",
        429: "<p>The user has sent too many requests\nin a given amount of time.</p>\n",
        431: "<p>The server refused this request because\nthe request header fields are too large.</p>\n",
        503: (
            "<p>The server is temporarily unable to service your\n"
            "request due to maintenance downtime or capacity\n"
            "problems. Please try again later.</p>\n"
        ),
        504: (
            "<p>The gateway did not receive a timely response\nfrom the upstream server or application.</p>\n"
        ),
        507: (
            "<p>The method could not be performed on the resource\n"
            "because the server is unable to store the\n"
            "representation needed to successfully complete the\n"
            "request.  There is insufficient free space left in\n"
            "your storage allocation.</p>\n"
        ),
        508: "<p>The server terminated an operation because\nit encountered an infinite loop.</p>\n",
        510: (
            "<p>A mandatory extension policy in the request is not\n"
            "accepted by the server for this resource.</p>\n"
        ),
        511: "<p>The client needs to authenticate to gain\nnetwork access.</p>\n",
    }
)

_WORDS: Final[MappingProxyType[int, Text]] = MappingProxyType(
    {
        300: lambda page, _uri: page.variants,
        301: _moved,
        302: _moved,
        303: lambda page, _uri: (
            f"<p>The answer to your request is located <a "
            f'href="{escape_html(page.location or "")}">here</a>.</p>\n'
        ),
        305: lambda page, _uri: (
            "<p>This resource is only accessible through the proxy\n"
            f"{escape_html(page.location or '')}<br />\n"
            f"You will need to configure your client to use that proxy.</p>\n"
        ),
        307: _moved,
        308: _moved,
        400: lambda page, _uri: (
            f"<p>Your browser sent a request that this server could not understand.<br />\n{page.notes}</p>\n"
        ),
        406: _not_acceptable,
        410: _gone,
        411: lambda page, _uri: (
            f"<p>A request of the requested method {escape_html(page.method)} requires a valid "
            f"Content-length.<br />\n{page.notes}</p>\n"
        ),
        412: _precondition,
        413: _too_large,
        414: lambda page, _uri: (
            f"<p>The requested URL's length exceeds the capacity\nlimit for this server.<br />\n"
            f"{page.notes}</p>\n"
        ),
        417: _expectation,
        451: lambda page, _uri: (
            f"<p>Access to this URL has been denied for legal reasons.<br />\n{page.notes}</p>\n"
        ),
        502: lambda page, _uri: (
            f"<p>The proxy server received an invalid\r\nresponse from an upstream server.<br />\r\n"
            f"{page.notes}</p>\n"
        ),
        506: lambda _page, uri: (
            f"<p>A variant for the requested resource\n<pre>\n{uri}\n</pre>\n"
            "is itself a negotiable resource. This indicates a configuration error.</p>\n"
        ),
    }
)
_WORDS_22: Final[MappingProxyType[int, Text]] = MappingProxyType(
    {
        403: lambda _page, uri: f"<p>You don't have permission to access {uri}\non this server.</p>\n",
        404: lambda _page, uri: f"<p>The requested URL {uri} was not found on this server.</p>\n",
        405: lambda page, uri: (
            f"<p>The requested method {escape_html(page.method)} is not allowed for the URL {uri}.</p>\n"
        ),
        501: lambda page, uri: (
            f"<p>{escape_html(page.method)} to {uri} not supported.<br />\n{page.notes}</p>\n"
        ),
    }
)
_WORDS_24: Final[MappingProxyType[int, Text]] = MappingProxyType(
    {
        403: lambda page, _uri: f"<p>You don't have permission to access this resource.{page.notes}</p>\n",
        404: lambda _page, _uri: "<p>The requested URL was not found on this server.</p>\n",
        405: lambda page, _uri: (
            f"<p>The requested method {escape_html(page.method)} is not allowed for this URL.</p>\n"
        ),
        501: lambda page, _uri: (
            f"<p>{escape_html(page.method)} not supported for current URL.<br />\n{page.notes}</p>\n"
        ),
    }
)
