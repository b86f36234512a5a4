"""Names of PHP's module in each version of PHP: its file, its handlers and the tests of <IfModule>.

Facts of libphp (sapi/apache2handler): every version takes files of the handler or type
`application/x-httpd-php`; `php5-script`, `php7-script` and `php-script` belong to PHP 5, 7 and 8 alone.
"""

from __future__ import annotations

import os
import re
from typing import Final

from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.syntax.words import getword
from whimbrel.upgrade.files.shared_objects import examine
from whimbrel.upgrade.source.config_tree import Statement

COMMON: Final = "application/x-httpd-php"
"""The handler, and media type, of PHP's module in every version."""
OF_ONE_VERSION: Final = re.compile(r"php[57]-script", re.IGNORECASE)
_HANDLERS: Final = re.compile(rf"{COMMON}|php[57]?-script", re.IGNORECASE)
OLD_TESTS: Final = frozenset({"mod_php4.c", "php4_module", "mod_php5.c", "php5_module"})
"""Arguments of <IfModule> that are false with PHP 7 and 8."""
ONLY_24: Final = frozenset({"php_module"})
"""Names of PHP's module, that of PHP 8, which no text of 2.2 loads."""
TESTS: Final = {"mod_php7.c": ("mod_php7.c", "php7_module"), "mod_php.c": ("mod_php.c", "php_module")}
"""Arguments of <IfModule> that are true with PHP 7, and with PHP 8."""
SETTINGS: Final = frozenset({"php_value", "php_flag", "php_admin_value", "php_admin_flag"})


def tested_module(section: Statement) -> str:
    """Return the argument of an <IfModule> section in lower case, with its "!"."""
    return getword(section.args)[0].lower()


def runs_scripts(line: Statement) -> bool:
    """Return True if *line* gives files the handler or media type by which PHP's module runs them."""
    if line.name in ("addhandler", "sethandler"):
        return bool(_HANDLERS.fullmatch("".join(line.words()[:1])))
    return line.name in ("addtype", "forcetype") and "".join(line.words()[:1]).lower() == COMMON


_LIBRARY: Final = re.compile(r"libphp([\d.]*)\.so")


def newest_module(directory: str) -> tuple[str, str] | None:
    """Return the identifier and file name of the newest module of PHP for 2.4 in *directory*, or None."""
    try:
        names = [from_system(os.fsdecode(name)) for name in os.listdir(to_bytes(directory))]
    except OSError:
        return None
    versions = {name: match[1] for name in names if (match := _LIBRARY.fullmatch(name))}
    by_version = sorted(versions, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)])
    for name in reversed(by_version):
        file = examine(os.path.join(directory, name))
        if file.api == "2.4":
            return file.modules[0].symbol, name
    return None
