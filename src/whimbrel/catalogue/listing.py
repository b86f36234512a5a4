"""The text of `-L`: every directive with its module, help text and contexts, as httpd prints it."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.catalogue.load import WHERE, Catalogue, DirectiveEntry

CLASSES = (
    ("AuthConfig", "OR_AUTHCFG"),
    ("Options", "OR_OPTIONS"),
    ("FileInfo", "OR_FILEINFO"),
    ("Indexes", "OR_INDEXES"),
    ("Limit", "OR_LIMIT"),
)
SECTIONS = {"2.2": "<Directory>, <Files> or <Location>", "2.4": "<Directory>, <Files>, <Location>, or <If>"}


def listing(catalogue: Catalogue, sources: Iterable[str]) -> str:
    """Return the output of -L for the modules with these source files, in their order of loading; it ends in
    a line end.
    """
    has_dir_config = {module.source: module.has_dir_config for module in catalogue.modules}
    return "".join(
        directive_text(row, catalogue.version, has_dir_config.get(source, True))
        for source in sources
        for row in catalogue.module_rows(source)
    )


def directive_text(row: DirectiveEntry, version: str, has_dir_config: bool = True) -> str:
    """Return the lines of one directive; *has_dir_config*: its module has per-directory settings."""
    text = f"\t{row.help}\n" if row.help else ""
    return (
        f"{row.name} ({row.source})\n{text}\tAllowed in *.conf "
        f"{contexts(row.where, version, has_dir_config)}\n"
    )


def contexts(where: int, version: str, has_dir_config: bool = True) -> str:
    """Return where a directive with these bits is allowed, as -L words it (one or two lines)."""
    main = where & WHERE["RSRC_CONF"]
    inside = where & (WHERE["OR_ALL"] | WHERE["ACCESS_CONF"])
    # The main server accepts the classes Options, FileInfo and Indexes, with or without RSRC_CONF.
    if where & (WHERE["OR_OPTIONS"] | WHERE["OR_FILEINFO"] | WHERE["OR_INDEXES"]) or (main and inside):
        text = "anywhere"
    else:
        text = f"only {'outside' if main else 'inside'} {SECTIONS[version]}"
    return text + (" [no per-dir config]" if inside and not has_dir_config else "") + _htaccess(where)


def _htaccess(where: int) -> str:
    """Return the part about .htaccess: the arguments of AllowOverride that permit the directive."""
    if not where & WHERE["OR_ALL"]:
        return ""
    words = [word for word, bit in CLASSES if where & WHERE[bit]]
    return " and in .htaccess\n\twhen AllowOverride " + (
        "isn't None" if len(words) == len(CLASSES) else "includes " + " or ".join(words)
    )
