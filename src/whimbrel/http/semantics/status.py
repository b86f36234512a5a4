"""Status lines in the wording of 2.2 and 2.4."""

from __future__ import annotations

from types import MappingProxyType

from whimbrel.base.static_typing import Final

_REASONS: Final = MappingProxyType(
    {
        100: "Continue",
        101: "Switching Protocols",
        102: "Processing",
        103: "Early Hints",
        200: "OK",
        201: "Created",
        202: "Accepted",
        203: "Non-Authoritative Information",
        204: "No Content",
        205: "Reset Content",
        206: "Partial Content",
        207: "Multi-Status",
        208: "Already Reported",
        226: "IM Used",
        300: "Multiple Choices",
        301: "Moved Permanently",
        302: "Found",
        303: "See Other",
        304: "Not Modified",
        305: "Use Proxy",
        307: "Temporary Redirect",
        308: "Permanent Redirect",
        400: "Bad Request",
        401: "Unauthorized",
        402: "Payment Required",
        403: "Forbidden",
        404: "Not Found",
        405: "Method Not Allowed",
        406: "Not Acceptable",
        407: "Proxy Authentication Required",
        408: "Request Timeout",
        409: "Conflict",
        410: "Gone",
        411: "Length Required",
        412: "Precondition Failed",
        413: "Request Entity Too Large",
        414: "Request-URI Too Long",
        415: "Unsupported Media Type",
        416: "Requested Range Not Satisfiable",
        417: "Expectation Failed",
        421: "Misdirected Request",
        422: "Unprocessable Entity",
        423: "Locked",
        424: "Failed Dependency",
        426: "Upgrade Required",
        428: "Precondition Required",
        429: "Too Many Requests",
        431: "Request Header Fields Too Large",
        451: "Unavailable For Legal Reasons",
        500: "Internal Server Error",
        501: "Not Implemented",
        502: "Bad Gateway",
        503: "Service Unavailable",
        504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
        506: "Variant Also Negotiates",
        507: "Insufficient Storage",
        508: "Loop Detected",
        510: "Not Extended",
        511: "Network Authentication Required",
    }
)

_ONLY_24: Final = frozenset({103, 208, 226, 308, 421, 428, 429, 431, 451, 508, 511})

# Statuses after which the connection is always closed, because the end of the request is unknown.
CLOSING_STATUSES: Final = frozenset((400, 408, 411, 413, 414, 500, 501, 503))

_REASONS_22: Final = MappingProxyType(
    {
        401: "Authorization Required",
        408: "Request Time-out",
        414: "Request-URI Too Large",
        501: "Method Not Implemented",
        503: "Service Temporarily Unavailable",
        504: "Gateway Time-out",
    }
)


def status_line(status: int, *, version22: bool = False) -> str:
    """``404 Not Found``.  A code that the version does not know becomes ``500 Internal Server Error``."""
    return (
        f"{status} {reason(status, version22=version22)}"
        if known(status, version22=version22)
        else "500 Internal Server Error"
    )


def reason(status: int, *, version22: bool = False) -> str:
    """Return the phrase of a known *status*, of 500 for others."""
    if version22 and status in _REASONS_22:
        return _REASONS_22[status]
    return _REASONS[status] if known(status, version22=version22) else _REASONS[500]


def known(status: int, *, version22: bool = False) -> bool:
    """Return True if the version has a status line for *status*."""
    return status in _REASONS and not (version22 and status in _ONLY_24)
