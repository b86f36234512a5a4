"""Names of PHP's module in each version of PHP: its file, its handlers and the tests of <IfModule>.

Facts of libphp (sapi/apache2handler): every version takes files of the handler or type
`application/x-httpd-php`; `php5-script`, `php7-script` and `php-script` belong to PHP 5, 7 and 8 alone.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.syntax.words import getword
from whimbrel.upgrade.source.config_tree import Statement

COMMON: Final = "application/x-httpd-php"
"""The handler, and media type, of PHP's module in every version."""
OF_ONE_VERSION: Final = re.compile(r"php[57]-script", re.IGNORECASE)
OLD_TESTS: Final = frozenset({"mod_php4.c", "php4_module", "mod_php5.c", "php5_module"})
"""Arguments of <IfModule> that are false with PHP 7 and 8."""
TESTS: Final = {"mod_php7.c": ("mod_php7.c", "php7_module"), "mod_php.c": ("mod_php.c", "php_module")}
"""Arguments of <IfModule> that are true with PHP 7, and with PHP 8."""
SETTINGS: Final = frozenset({"php_value", "php_flag", "php_admin_value", "php_admin_flag"})


def tested_module(section: Statement) -> str:
    """Return the argument of an <IfModule> section in lower case, with its "!"."""
    return getword(section.args)[0].lower()
