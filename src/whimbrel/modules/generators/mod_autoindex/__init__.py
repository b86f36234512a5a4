"""mod_autoindex: listings of directories without an index file.

The handler is in `listing`.
"""

from __future__ import annotations

from whimbrel.directives.spec import Context
from whimbrel.modules.generators.mod_autoindex import settings
from whimbrel.modules.generators.mod_autoindex.settings import AutoindexDirConfig, add_alt, add_icon
from whimbrel.modules.support.setters import refused, set_flag, set_text
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER

INDEXES = Context.OR_INDEXES


MODULE = Module(
    name="autoindex_module",
    source="mod_autoindex.c",
    dir_config=AutoindexDirConfig,
    dir_setters={
        "AddIcon": add_icon("path"),
        "AddIconByType": add_icon("type"),
        "AddIconByEncoding": add_icon("encoding"),
        "AddAlt": add_alt("path"),
        "AddAltByType": add_alt("type"),
        "AddAltByEncoding": add_alt("encoding"),
        "IndexOptions": settings.set_options,
        "IndexOrderDefault": settings.set_order,
        "IndexIgnore": settings.add_ignored,
        "IndexIgnoreReset": set_flag("forget_ignored"),
        "AddDescription": settings.add_description,
        "HeaderName": set_text("header"),
        "ReadmeName": set_text("readme"),
        "FancyIndexing": refused(
            "The FancyIndexing directive is no longer supported. Use IndexOptions FancyIndexing."
        ),
        "DefaultIcon": set_text("default_icon"),
        "IndexStyleSheet": set_text("style_sheet"),
        "IndexHeadInsert": set_text("head_insert"),
    },
    hooks=(
        Hook(
            HANDLER,
            lazy_maker("whimbrel.modules.generators.mod_autoindex.listing", "make_handler"),
            Order.MIDDLE,
        ),
    ),
)
