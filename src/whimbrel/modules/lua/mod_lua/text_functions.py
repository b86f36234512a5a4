"""Functions of `r` on texts: escapes, digests, regular expressions, dates, cookies (lua_request.c)."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.fnmatch import simple_match
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import is_alphanumeric, strtol_exact
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.engine.expressions import evaluate
from whimbrel.engine.identity import construct_url, server_name
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.http.syntax.url import escape_form, escape_html, escape_logitem, escape_path
from whimbrel.modules.lua.mod_lua.arguments import CallArguments, lua_text, to_integer, type_name
from whimbrel.modules.support.auth.hashing import HashError, hash_password

if TYPE_CHECKING:
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

MAX_GROUPS: Final = 10
_ESCAPE: Final = re.compile("%(..?)?", re.DOTALL)
_NOT_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]")
NOTHING: Final[tuple[Any, ...]] = ()


def base64_encode(_api: RequestApi, words: CallArguments) -> str:
    return base64.b64encode(to_bytes(words.text(1))).decode("latin-1")


def base64_decode(_api: RequestApi, words: CallArguments) -> str:
    """Decode up to the first character that is none of the alphabet."""
    data = to_bytes(words.text(1))
    bad = _NOT_BASE64.search(data)
    if bad:
        data = data[: bad.start()]
    data = data[:-1] if len(data) % 4 == 1 else data
    return to_text(base64.b64decode(data + b"=" * (-len(data) % 4)))


def md5(_api: RequestApi, words: CallArguments) -> str:
    return hashlib.md5(to_bytes(words.text(1)), usedforsecurity=False).hexdigest()


def sha1(_api: RequestApi, words: CallArguments) -> str:
    return hashlib.sha1(to_bytes(words.text(1)), usedforsecurity=False).hexdigest()


def escape(_api: RequestApi, words: CallArguments) -> str:
    return escape_form(words.text(1))


def unescape(_api: RequestApi, words: CallArguments) -> Any:
    """Decode a form value; nothing for a bad escape, and for an escaped slash or NUL."""
    text = words.text(1).replace("+", " ")
    bad = False

    def one(match: re.Match[str]) -> str:
        nonlocal bad
        digits = match[1] or ""
        code = strtol_exact(digits, 16) if len(digits) == 2 and is_alphanumeric(digits) else None
        code = -1 if code is None else code
        bad = bad or code <= 0
        return chr(max(code, 0))

    found = _ESCAPE.sub(one, text)
    return NOTHING if bad else found


def html(_api: RequestApi, words: CallArguments) -> str:
    return escape_html(words.text(1))


def url(api: RequestApi, words: CallArguments) -> str:
    return construct_url(api.r, words.text(1))


def path(_api: RequestApi, words: CallArguments) -> str:
    return escape_path(words.text(1))


def logitem(_api: RequestApi, words: CallArguments) -> str:
    return escape_logitem(words.text(1))


def server_name_for_url(api: RequestApi, _words: CallArguments) -> str:
    name = server_name(api.r)
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def strcmp_match(_api: RequestApi, words: CallArguments) -> bool:
    """Compare with ``*`` and ``?`` (ap_strcmp_match)."""
    return simple_match(words.text(1), words.text(2))


def date_parse_rfc(_api: RequestApi, words: CallArguments) -> Any:
    seconds = parse_http(words.text(1))
    return NOTHING if seconds is None else float(seconds)


def expression(api: RequestApi, words: CallArguments) -> Any:
    """Evaluate an expression: its value, or false and the message of an error."""
    try:
        condition = compile_condition(words.text(1))
        return evaluate(api.r, condition, "lua")
    except (ExprError, EvalError) as problem:
        return False, getattr(problem, "reason", str(problem))


def regex(api: RequestApi, words: CallArguments) -> Any:
    """Search: the groups by number, false without a match, false and the message of a bad pattern."""
    text = words.text(1)
    pattern = words.text(2)
    flags = words.integer(3, 0)
    try:
        compiled = compile_regex(f"(?m){pattern}" if flags & 2 else pattern, ignore_case=bool(flags & 1))
    except RegexError as problem:
        return False, str(problem)
    if compiled.groups + 1 > MAX_GROUPS:
        return False, f"regcomp found {compiled.groups} matches; only {MAX_GROUPS} allowed."
    found = compiled.search(text)
    if not found:
        return False
    groups = (found.group(0), *found.groups())
    return api.machine.table({number: value for number, value in enumerate(groups) if value is not None})


def password(_api: RequestApi, words: CallArguments) -> Any:
    """Return a hash: 0 apr1, 1 SHA, 2 bcrypt, 3 crypt."""
    text = words.text(1)
    number = words.integer(2, 0)
    cost = words.integer(3, 0)
    if not 0 <= number < 4:
        return None, f"Unknown algorithm {number}"
    try:
        return hash_password(text, "msBd"[number], cost or (5 if number == 2 else 0)).stored
    except HashError as problem:
        return None, str(problem)


# cookies -------------------------------------------------------------------------------------------
def get_cookie(api: RequestApi, words: CallArguments) -> Any:
    """Return the decoded value of a cookie of the client."""
    name = words.text(1)
    for line in api.r.headers_in.get_all("Cookie"):
        for part in line.split(";"):
            key, equals, value = part.strip(" ").partition("=")
            if equals and key == name:
                return unescape(api, CallArguments("getcookie", (value,)))
    return NOTHING


def set_cookie(api: RequestApi, words: CallArguments) -> Any:
    """Set a cookie: a table of its parts, or name, value, secure, expires and httponly in a row."""
    first = words.value(1)
    default_path = ""
    if type_name(first) == "table":
        part = dict(first.items())
        default_path = "Path=/;"
    else:
        names = ("key", "value", "secure", "expires", "httponly")
        part = {name: words.value(number) for number, name in enumerate(names, 1)}
    key, value = (lua_text(part.get(name) or "") for name in ("key", "value"))
    seconds = to_integer(part.get("expires")) or 0
    path = part.get("path")
    domain = part.get("domain")
    words_of = (
        f"{escape_form(key)}={escape_form(value)};",
        "Secure;" if part.get("secure") else "",
        f"Expires={format_http(seconds)};" if seconds else "",
        "HttpOnly;" if part.get("httponly") else "",
        f"Domain={lua_text(domain)};" if domain else "",
        f"Path={lua_text(path)};" if path else default_path,
    )
    api.r.err_headers_out.add("Set-Cookie", " ".join(words_of))
    return NOTHING


def clock(api: RequestApi, _words: CallArguments) -> float:
    """Return the time in microseconds."""
    return float(int(time.time() * 1_000_000))


def usleep(_api: RequestApi, words: CallArguments) -> Any:
    time.sleep(max(words.integer(1), 0) / 1_000_000)
    return NOTHING
