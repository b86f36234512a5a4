"""Mapping of URL paths to back ends: ProxyPass and ProxyPassMatch (ap_proxy_trans_match).

Functions of text; the hooks are in `url_hooks`.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.modules.mappers.mod_alias import alias_length
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias
from whimbrel.modules.support.substitution import Substitution

_VARIABLE = compile(r"\$\{([^}]*)\}")


def interpolate(text: str, env: Mapping[str, str]) -> str:
    """Return *text* with each ``${NAME}`` replaced by that variable, by nothing if it is unset."""
    return _VARIABLE.sub(lambda match: env.get(match[1], ""), text) if "${" in text else text


def interpolated(aliases: list[ProxyAlias], env: Mapping[str, str]) -> list[ProxyAlias]:
    """Return *aliases* with the variables of those that have the word ``interpolate``."""
    return [
        ProxyAlias(interpolate(alias.fake, env), interpolate(alias.real, env)) if alias.interpolate else alias
        for alias in aliases
    ]


@dataclass(frozen=True, slots=True)
class MappedPath:
    """The result of one ProxyPass line that matches.

    Attributes:
        url: the URL of the back end; None for ``!``.
        is_canonical: False if the path is passed on as the client sent it.
        is_mismatched: the line has ``nocanon``, which was not safe to apply.
        path: the normalized path for ``mapping=servlet``, else None.
    """

    url: str | None
    is_canonical: bool = True
    is_mismatched: bool = False
    path: str | None = None


def map_path(alias: ProxyAlias, path: str, unparsed: str, *, ampersand: bool = False) -> MappedPath | None:
    """Return what *alias* makes of the decoded *path*, None if it is about other paths.

    *unparsed*: the target as sent, for ``nocanon``. *ampersand*: ``&`` is the whole match, as in 2.2.
    """
    if alias.regex is not None:
        return _map_by_regex(alias, path, unparsed, ampersand)
    if alias.servlet:
        servlet = match_servlet(path, alias.fake)
        if servlet is None:
            return None
        size, normal = servlet
        return MappedPath(None if alias.real == "!" else alias.real + path[size:], path=normal)
    size = alias_length(path, alias.fake)
    if not size:
        return None
    if alias.real == "!":
        return MappedPath(None)
    if not alias.nocanon:
        return MappedPath(alias.real + path[size:])
    if alias_length(unparsed, alias.fake) == size:
        return MappedPath(alias.real + unparsed[size:], False)
    return MappedPath(alias.real + path[size:], True, True)


def _map_by_regex(alias: ProxyAlias, path: str, unparsed: str, ampersand: bool) -> MappedPath | None:
    """Map by an expression; without a reference in the URL the whole path follows it."""
    assert alias.regex is not None
    match = alias.regex.search(path)
    if match is None:
        return None
    if alias.real == "!":
        return MappedPath(None)
    used = path
    is_canonical = True
    is_mismatched = False
    if alias.nocanon:
        raw = alias.regex.search(unparsed)
        if raw is None:
            is_mismatched = True
        else:
            match = raw
            used = unparsed
            is_canonical = False
    found = Substitution(alias.real, ampersand=ampersand).apply(match)
    return MappedPath(alias.real + used if found == alias.real else found, is_canonical, is_mismatched)


def match_servlet(path: str, alias: str) -> tuple[int, str] | None:
    """Match *path*, not decoded, as a servlet container reads it: without parameters and dot segments.

    Return the length of *path* that *alias* covers, and the normalized path; None if it does not match, or
    if ``..`` leaves the root (``mapping=servlet``).
    """
    if not path.startswith("/") or not alias.startswith("/"):
        return None
    segments, is_directory = _segments(path)
    if segments is None:
        return None
    names = [path[start:end] for start, end in segments]
    normal = "/" + "/".join(names) + ("/" if is_directory and names else "")
    wanted = [part for part in alias.split("/") if part]
    if names[: len(wanted)] != wanted:
        return None
    ends_in_slash = alias.endswith("/")
    if ends_in_slash and wanted and len(names) == len(wanted) and not is_directory:
        return None
    if len(names) == len(wanted):
        size = len(path)
    else:
        size = _rest_of(path, segments, len(wanted))
        if wanted and not ends_in_slash and path[(end := segments[len(wanted) - 1][1]) : end + 1] == ";":
            size = end  # the parameters of the last segment are passed on
    if not ends_in_slash and path[size - 1] == "/":
        size -= 1
    return size, normal


def _rest_of(path: str, segments: list[tuple[int, int]], covered: int) -> int:
    """Return where *path* goes on behind its first *covered* segments.

    Empty segments and ``.`` are left out, but for one with parameters, with which the rest begins.
    """
    at = segments[covered - 1][1] if covered else 0
    at = path.find("/", at) + 1
    while at < segments[covered][0]:
        stop = path.find("/", at)
        text = path[at:stop]
        if text not in ("", "."):
            return at if text.partition(";")[0] in ("", ".") else segments[covered][0]
        at = stop + 1
    return segments[covered][0]


def _segments(path: str) -> tuple[list[tuple[int, int]] | None, bool]:
    """Return begin and end of the segments' names in *path*, and True if a slash follows the last one.

    The list is None if ``..`` leaves the root.
    """
    segments: list[tuple[int, int]] = []
    at = 1
    is_directory = True
    while at < len(path):
        slash = path.find("/", at)
        stop = len(path) if slash < 0 else slash
        semicolon = path.find(";", at, stop)
        end = stop if semicolon < 0 else semicolon
        name = path[at:end]
        is_directory = slash >= 0 or name in ("", ".", "..")
        if name == "..":
            if not segments:
                return None, False
            segments.pop()
        elif name not in ("", "."):
            segments.append((at, end))
        at = stop + 1
    return segments, is_directory
