"""URL paths: decoding, normalization and escaping as in httpd.

Paths are text of one character per byte.  2.4 normalizes first and decodes afterwards, 2.2 does the reverse;
`decode_path` does both steps, the others are for modules that need one of them.
"""

from __future__ import annotations

import re

from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import Final, IntEnum

_ESCAPE = compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED_ESCAPE = compile(r"%(?:2[dDeE]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])")
_BAD_ESCAPE = compile(r"%(?![0-9A-Fa-f]{2})")
_SLASHES = compile(r"//+")
_SHELL = compile(r"""[&;`'"|*?~<>^()\[\]{}$\\\n]""")
NOT_PLAIN: Final = compile(
    r"[%\0]|/[./]"
)  # a path that needs decoding or normalization: an escape, a dot or empty segment

BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404


class Slashes(IntEnum):
    """AllowEncodedSlashes: %2f in a path is refused, decoded, or retained."""

    OFF = 1
    ON = 2
    NO_DECODE = 3


def decode_path(
    path: str, slashes: Slashes = Slashes.OFF, *, merge: bool = True, version22: bool = False
) -> tuple[str, int]:
    """Return the path that is matched with sections and files, and 0, 400 (bad escape, above the root) or 404
    (%2f, %00).

    *merge* is MergeSlashes; 2.2 retains several slashes.
    """
    if version22:
        decoded, status = unescape(path, slashes)
        return decoded if status else getparents(decoded), status
    if path[:1] == "/" and NOT_PLAIN.search(path) is None:
        return path, 0
    clean, good = normalize(path, merge=merge, decode_unreserved=True)
    if not good:
        return clean, BAD_REQUEST
    decoded, status = unescape(clean, slashes)
    if not status and slashes is Slashes.ON:
        decoded, _ = normalize(decoded, merge=merge)
    return decoded, status


def unescape(path: str, slashes: Slashes = Slashes.OFF) -> tuple[str, int]:
    """Replace escapes; (path, status): a wrong escape stays (400), a NUL or a refused slash is 404."""
    if "%" not in path:
        return path, 0
    status = 0

    def one(match: re.Match[str]) -> str:
        nonlocal status
        if match[1] is None:
            status = BAD_REQUEST
            return "%"
        char = chr(int(match[1], 16))
        if char == "/" and slashes is Slashes.NO_DECODE:
            return match[0]
        if char == "\0" or (char == "/" and slashes is Slashes.OFF):
            status = status or NOT_FOUND
        return char

    return _ESCAPE.sub(one, path), status


def unescape_loose(text: str) -> str:
    """Decode valid escapes (``+`` stays), keep the rest: for queries and user input, never paths."""
    return _ESCAPE.sub(lambda m: m[0] if m[1] is None else chr(int(m[1], 16)), text)


def escape_shell(text: str) -> str:
    """Escape every character with a meaning in a shell by a backslash (ap_escape_shell_cmd)."""
    return _SHELL.sub(lambda match: "\\" + match[0], text)


def normalize(
    path: str, *, merge: bool, decode_unreserved: bool = False, relative: bool = False
) -> tuple[str, bool]:
    """2.4's normal form: no ``.`` and ``..`` segments, slashes merged, escapes of unreserved characters
    decoded; (path, good).

    Not good: a wrong escape (where escapes are decoded), ``..`` above the root, a path that begins with no
    slash (unless it is ``*`` or *relative* is set).
    """
    if path[:1] != "/" and (path == "*" or not relative or not path):
        return path, path == "*"
    good = True
    if decode_unreserved and "%" in path:
        good = _BAD_ESCAPE.search(path) is None
        path = _UNRESERVED_ESCAPE.sub(lambda m: chr(int(m[0][1:], 16)), path)
    if "/." in path or path[:1] == ".":
        path, inside = _without_dots(path, merge)
        good = good and inside
    return (_SLASHES.sub("/", path) if merge and "//" in path else path), good


def _without_dots(path: str, merge: bool) -> tuple[str, bool]:
    """Remove dot segments; return the path, and True if it never went above its beginning.  With *merge*
    empty segments are ignored.
    """
    root = "/" if path[:1] == "/" else ""
    segments: list[str] = []
    inside = True
    parts = path[len(root) :].split("/")
    for part in parts:
        if part == "..":
            inside = inside and bool(segments)
            del segments[-1:]
        elif part != "." and (part or not merge):
            segments.append(part)
    # A path whose last segment was removed ends in a slash, unless it is empty.
    if segments and parts[-1] in ("..", ".") or (merge and segments and not parts[-1]):
        segments.append("")
    return root + "/".join(segments), inside


def getparents(path: str) -> str:
    """Return 2.2's normal form: without dot segments, with empty segments.  ``/..`` removes the root's slash,
    which makes the path invalid.
    """
    if "." not in path:
        return path
    parts = path.split("/")
    segments: list[str] = []
    for part in parts:
        if part == "..":
            del segments[-1:]
        elif part != ".":
            segments.append(part)
    if parts[-1] in ("..", "."):
        segments.append("")
    return "/".join(segments)


def merge_slashes(path: str) -> str:
    """Return a path with slashes merged, which 2.2 compares with sections."""
    return _SLASHES.sub("/", path) if "//" in path else path


_PATH_CHARS = compile(r"[^0-9A-Za-z$\-_.+!*'(),:;@&=/~]")
_SEGMENT_CHARS = compile(r"[^0-9A-Za-z$\-_.+!*'(),:;@&=~]")
_FORM_CHARS = compile(r"[^0-9A-Za-z.\-*_ ]")


def _hex(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02x}"


def escape_uri(path: str) -> str:
    """Return a path for use in a URL: every byte that is not allowed as ``%xx`` in lower case."""
    return _PATH_CHARS.sub(_hex, path)


def escape_path(path: str) -> str:
    """Return `escape_uri` of a path, with ``./`` before a first segment with a colon."""
    first = path.partition("/")[0]
    return ("./" if ":" in first else "") + escape_uri(path)


def escape_segment(text: str) -> str:
    """Escape one segment of a path, slashes included."""
    return _SEGMENT_CHARS.sub(_hex, text)


def escape_form(text: str) -> str:
    """``application/x-www-form-urlencoded``: a space becomes ``+``."""
    return _FORM_CHARS.sub(_hex, text).replace(" ", "+")


_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;"})


def escape_html(text: str, *, ascii_only: bool = False) -> str:
    """Escape the characters that end text or attributes; *ascii_only*: other bytes as ``&#233;``."""
    escaped = text.translate(_HTML)
    return re.sub(r"[\x80-\xff]", lambda m: f"&#{ord(m[0]):03};", escaped) if ascii_only else escaped


LOG_CHARS: Final = compile(r"[^ !#-\[\]-~]")
_ERROR_LOG_CHARS = compile(r"[^ -\[\]-~]")
_NAMED: Final = {"\b": "\\b", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}

_ESCAPED = compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "b": "\b", "f": "\f", "a": "\a"}


def _log_escape(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or f"\\x{ord(char):02x}"


def escape_logitem(text: str) -> str:
    r"""A value of the access log: ``\"``, ``\\``, ``\n``, ``\xhh``."""
    return LOG_CHARS.sub(_log_escape, text)


def unescape_logitem(text: str) -> str:
    """Return the value that `escape_logitem` escaped."""
    return text if "\\" not in text else _ESCAPED.sub(_log_unescape, text)


def _log_unescape(found: re.Match[str]) -> str:
    sequence = found[1]
    return chr(int(sequence[1:], 16)) if len(sequence) == 3 else _LETTERS.get(sequence, sequence)


def escape_errorlog_item(text: str) -> str:
    r"""A line of the error log: as `escape_logitem`, but quotes stay."""
    return _ERROR_LOG_CHARS.sub(_log_escape, text)


def construct_url(scheme: str, host: str, port: int, uri: str) -> str:
    """Return ``http://host/uri`` without the default port; *uri* is escaped, *host* has brackets."""
    is_default = {"http": 80, "https": 443}.get(scheme)
    return f"{scheme}://{host}{'' if port == is_default else f':{port}'}{uri}"
