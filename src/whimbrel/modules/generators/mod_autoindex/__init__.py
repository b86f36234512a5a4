"""mod_autoindex: listings of directories without an index file.

Manual: mod/mod_autoindex.html. The handler is in `listing`.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any
from whimbrel.directives.spec import Args, Context, Directive, Versions
from whimbrel.modules.generators.mod_autoindex import settings
from whimbrel.modules.generators.mod_autoindex.settings import AutoindexDirConfig, add_alt, add_icon
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER

INDEXES = Context.OR_INDEXES


def _row(name: str, args: Args, apply: Any, text: str, versions: Versions = Versions.BOTH) -> Directive[Any]:
    return Directive(name=name, args=args, where=INDEXES, apply=apply, help=text, versions=versions)


MODULE = Module(
    name="autoindex_module",
    source="mod_autoindex.c",
    dir_config=AutoindexDirConfig,
    directives=(
        _row("AddIcon", Args.ITERATE2, add_icon("path"), "an icon URL followed by one or more filenames"),
        _row(
            "AddIconByType", Args.ITERATE2, add_icon("type"), "an icon URL followed by one or more MIME types"
        ),
        _row(
            "AddIconByEncoding",
            Args.ITERATE2,
            add_icon("encoding"),
            "an icon URL followed by one or more content encodings",
        ),
        _row(
            "AddAlt",
            Args.ITERATE2,
            add_alt("path"),
            "alternate descriptive text followed by one or more filenames",
        ),
        _row(
            "AddAltByType",
            Args.ITERATE2,
            add_alt("type"),
            "alternate descriptive text followed by one or more MIME types",
        ),
        _row(
            "AddAltByEncoding",
            Args.ITERATE2,
            add_alt("encoding"),
            "alternate descriptive text followed by one or more content encodings",
        ),
        _row("IndexOptions", Args.TAKE_ARGV, settings.set_options, "one or more index options [+|-][]"),
        _row(
            "IndexOrderDefault",
            Args.TAKE2,
            settings.set_order,
            "{Ascending,Descending} {Name,Size,Description,Date}",
        ),
        _row("IndexIgnore", Args.ITERATE, settings.add_ignored, "one or more file extensions"),
        _row(
            "IndexIgnoreReset",
            Args.FLAG,
            settings.reset_ignored,
            "Reset the inherited list of IndexIgnore filenames",
            Versions.V24,
        ),
        _row(
            "AddDescription",
            Args.ITERATE2,
            settings.add_description,
            "Descriptive text followed by one or more filenames",
        ),
        _row("HeaderName", Args.TAKE1, set_text("header"), "a filename"),
        _row("ReadmeName", Args.TAKE1, set_text("readme"), "a filename"),
        Directive(
            name="FancyIndexing",
            args=Args.RAW_ARGS,
            where=Context.OR_ALL,
            apply=settings.fancy_is_gone,
            help="The FancyIndexing directive is no longer supported. Use IndexOptions FancyIndexing.",
        ),
        _row("DefaultIcon", Args.TAKE1, set_text("default_icon"), "an icon URL"),
        _row("IndexStyleSheet", Args.TAKE1, set_text("style_sheet"), "URL to style sheet"),
        _row("IndexHeadInsert", Args.TAKE1, set_text("head_insert"), "String to insert in HTML HEAD section"),
    ),
    hooks=(
        Hook(
            HANDLER,
            lazy_maker("whimbrel.modules.generators.mod_autoindex.listing", "make_handler"),
            Order.MIDDLE,
        ),
    ),
)
