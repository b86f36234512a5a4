"""Facts under which the conditions of a line hold: SetEnvIf, RewriteCond, expressions, addresses, methods."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any, Final

from whimbrel.access.samples import regex_samples
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.verify.config_lines import ConfigLine
from whimbrel.verify.derive.facts import Facts

_ATTRIBUTES: Final = {
    "remote_addr": "client",
    "remote_host": "client_host",
    "request_method": "method",
    "request_uri": "target",
    "request_protocol": "protocol",
    "http_host": "host",
    "query_string": "query",
    "server_name": "host",
    "args": "query",
}
"""Names of variables (lower case) and the fact that sets them."""
_VARIABLE: Final = (
    r"(?:%\{(?P<name>[A-Za-z_]+)(?::(?P<field>[^}]+))?\}"
    r"|(?:req|http|req_novary)\(\s*'(?P<called>[^']+)'\s*\))"
)
_COMPARISON: Final = re.compile(
    _VARIABLE
    + r"""\s*(?P<op>=~|!~|==|!=|=|-eq|-ne|-strmatch|-strcmatch|-ipmatch|-in|in)?\s*
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|m?\#(?P<hash>(?:[^\#\\]|\\.)*)\#|/(?P<slash>(?:[^/\\]|\\.)*)/
    |\{(?P<list>[^}]*)\}|(?P<word>[^\s)&|'"]+))?""",
    re.VERBOSE,
)
_ADDRESS_TEST: Final = re.compile(r"""-R\s*['"]?([0-9a-fA-F:./]+)|-ipmatch\s*['"]([0-9a-fA-F:./]+)""")
_MAX_SAMPLES: Final = 3
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_SAFE: Final = re.compile(r"[\x21-\x7e]+\Z")


def facts_of_line(line: ConfigLine) -> Iterator[Facts]:
    """Yield facts under which a condition of *line* holds, one at a time."""
    name = line.name
    words = line.words()
    if name in ("setenvif", "setenvifnocase") and len(words) >= 2:
        for attribute in _attributes(words[0]):
            yield from _matching(attribute, words[1])
    elif name in ("browsermatch", "browsermatchnocase") and words:
        yield from _matching("User-Agent", words[0])
    elif name in ("limit", "limitexcept", "allowmethods"):
        yield from (Facts(method=word) for word in _methods(line.args))
        if name == "limitexcept":
            yield from (Facts(method=word) for word in ("POST", "PUT", "OPTIONS"))
    elif name in ("require", "allow", "deny"):
        yield from _of_access(words)
    elif name in ("deflatecompressionlevel", "setoutputfilter", "addoutputfilterbytype", "addoutputfilter"):
        yield Facts((("Accept-Encoding", "gzip"),))
    elif name == "addlanguage" and words:
        yield Facts((("Accept-Language", words[0]),))
    elif name in ("addtype", "addcharset") and words:
        yield Facts((("Accept", words[0]),)) if "/" in words[0] else Facts()
    elif name == "script" and words:
        yield Facts(method=words[0])
    if "%{" in line.args or "('" in line.args or "-R" in line.args or "-ipmatch" in line.args:
        yield from expression_facts(line.args)


def _attributes(text: str) -> list[str]:
    """Return the names that the first argument of SetEnvIf stands for: itself, or fields that it matches."""
    if _FIELD_NAME.fullmatch(text) or "_" in text:
        return [text]
    return [name for name in regex_samples(text)[:_MAX_SAMPLES] if _FIELD_NAME.fullmatch(name)]


def condition_facts(subject: str, pattern: str) -> list[Facts]:
    """Return facts under which a RewriteCond holds; [Facts()] if they are not known."""
    if pattern.startswith("!"):
        return [Facts()]
    if subject.lower() == "expr":
        return list(expression_facts(pattern)) or [Facts()]
    found = re.search(r"%\{(?:HTTP:([^%{}]+)|([A-Za-z_:]+))\}", subject)
    if found is None:
        return [Facts()]
    name = found[1] or _field_of(found[2])
    if pattern.startswith(("<", ">", "=")):
        text = pattern.lstrip("<>=").strip('"')
        return [_setting(name, text)] if text else [Facts()]
    if pattern.startswith("-"):
        return [Facts()]
    return list(_matching(name, pattern)) or [Facts()]


def failing_facts(subject: str, pattern: str) -> Facts:
    """Return facts under which a RewriteCond does not hold: an ordinary request for one without negation."""
    if not pattern.startswith("!"):
        return Facts()
    return condition_facts(subject, pattern[1:])[0]


def expression_facts(text: str) -> Iterator[Facts]:
    """Yield facts under which comparisons in an expression hold."""
    for found in _COMPARISON.finditer(text):
        if found["name"] and found["name"].upper() == "HTTP" and found["field"]:
            name = found["field"]
        else:
            name = found["called"] or _field_of(found["name"])
        operand = found["single"] or found["double"] or found["word"] or ""
        pattern = found["hash"] or found["slash"]
        if pattern is not None:
            yield from _matching(name, pattern)
        elif found["list"] is not None:
            yield from (_setting(name, word.strip(" '\"")) for word in found["list"].split(","))
        elif operand and found["op"]:
            clean = operand.replace("*", "x").replace("?", "x") if "match" in found["op"] else operand
            if found["op"] == "-ipmatch":
                clean = first_address(operand)
            yield _setting(name, clean)
        elif name and found["op"] is None:
            yield _setting(name, "1")
    for found in _ADDRESS_TEST.finditer(text):
        yield Facts(client=first_address(found[1] or found[2]))


def _of_access(words: list[str]) -> Iterator[Facts]:
    """Yield clients and methods that access lines name: other modules may depend on them, too."""
    for word in words[1:]:
        address = first_address(word)
        if address:
            yield Facts(client=address)
    if words and words[0].lower() == "method":
        yield from (Facts(method=word) for word in words[1:])


def first_address(text: str) -> str:
    """Return the first address of a network, as httpd's access lines write it; "" if it is none."""
    word = text.strip("'\"")
    if re.fullmatch(r"\d+(\.\d+){0,2}\.?", word):
        parts = word.rstrip(".").split(".")
        word = ".".join([*parts, "0", "0", "0"][:4]) + f"/{8 * len(parts)}"
    try:
        network = ipaddress.ip_network(word, strict=False)
    except ValueError:
        return ""
    return str(network.network_address if network.num_addresses == 1 else network.network_address + 1)


def _methods(args: str) -> list[str]:
    return re.findall(r"[A-Z]+", args)


def _field_of(variable: str) -> str:
    """Return the header field that a variable is made of, else the variable."""
    low = (variable or "").lower()
    if low == "http_host" or not low.startswith("http_"):
        return low
    return "-".join(part.capitalize() for part in low.removeprefix("http_").split("_"))


def _matching(name: str, pattern: str) -> Iterator[Facts]:
    texts = regex_samples(pattern)[:_MAX_SAMPLES]
    yield from (_setting(name, text) for text in texts)


def _setting(name: str, value: str) -> Facts:
    """Return the facts that give a variable or field *name* the value; no facts if nothing can."""
    low = name.lower()
    fact = _ATTRIBUTES.get(low)
    if fact == "target":
        return Facts(target="/" + value.removeprefix("/")) if _SAFE.match(value) else Facts()
    if fact == "client":
        return Facts(client=first_address(value) or _completed(value))
    if fact is not None:
        changes: dict[str, Any] = {fact: value} if value and _SAFE.match(value) else {}
        return replace(Facts(), **changes)
    if _FIELD_NAME.fullmatch(name) and "\n" not in value and value.isascii():
        return Facts(((name, value),))
    return Facts()


def _completed(prefix: str) -> str:
    """Return an address that begins with the sample of a pattern."""
    parts = re.findall(r"\d+", prefix)[:4]
    address = ".".join([*parts, "1", "1", "1", "1"][:4])
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return ""
