"""mod_filter's argument rules that need no knowledge of the filters."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Declarer, Rule, split_args

PROVIDERS = {
    "deflate": "deflate",
    "inflate": "deflate",
    "includes": "include",
    "brotli_compress": "brotli",
    "substitute": "substitute",
    "sed": "sed",
    "xml2enc": "xml2enc",
    "proxy-html": "proxy_html",
    "buffer": "buffer",
    "rate_limit": "ratelimit",
    "request": "request",
}
"""Filters registered by modules, whose names -D prints; ExtFilterDefine and Lua may define others."""


def _unknown_provider(name: str, around: CheckContext) -> str | None:
    """An output filter that exists; without mod_ext_filter and mod_lua it must be a module's."""
    if f"{PROVIDERS.get(name.lower(), '')}_module" in around.loaded or around.loaded & {
        "ext_filter_module",
        "lua_module",
    }:
        return None
    return f"Unknown filter provider {name}"


def _by_type(words: list[str], around: CheckContext) -> str | None:
    """The function counts its arguments itself, without the help text."""
    if len(words) < 2 or not words[1]:
        return "AddOutputFilterByType requires at least two arguments"
    return next((m for name in words[0].split(";") if name and (m := _unknown_provider(name, around))), None)


def _provider(words: list[str], around: CheckContext) -> str | None:
    """2.2 requires four words in one text: filter, provider, condition, match."""
    if around.version == "2.4":
        wrong = around.expression_error(words[2], False)
        return _unknown_provider(words[1], around) or (
            f"Error parsing FilterProvider expression:{wrong}" if wrong else None
        )
    parts = split_args(words[0])
    return (
        _unknown_provider(parts[1], around)
        if len(parts) == 4
        else "usage: FilterProvider filter provider condition match"
    )


def _group(around: CheckContext) -> str:
    """Return the group of filters: they are visible in the section that declares them."""
    return f"filter {around.argument}"


def _declared(message: str) -> Rule:
    """The first argument is a filter declared in this section."""
    return lambda words, around: (
        None if words[0] in around.declared.get(_group(around), ()) else message.replace("{0}", words[0])
    )


def _declare(words: list[str], around: CheckContext) -> list[tuple[str, str]]:
    parts = split_args(words[0]) if around.version == "2.2" and len(words) == 1 else words
    return [(_group(around), parts[0])] if parts else []


def _declare_types(words: list[str], around: CheckContext) -> list[tuple[str, str]]:
    return [(_group(around), f"BYTYPE:{name}") for name in words[0].split(";") if name]


CHECKS: dict[str, Rule] = {
    "addoutputfilterbytype": _by_type,
    "filterprovider": _provider,
    "filterprotocol": _declared("FilterProtocol: No such filter"),
    "filtertrace": _declared("Undeclared smart filter {0}"),
}
DECLARES: dict[str, Declarer] = {
    "filterdeclare": _declare,
    "filterprovider": _declare,
    "addoutputfilterbytype": _declare_types,
}
