"""mod_php: scripts of PHP, run by the machine's php-fpm or php-cgi, which the server starts and stops.

The directives, handlers and messages are those of libphp5.so, libphp7.so and libphp.so (sapi/apache2handler).
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Final

from whimbrel.base.errors import PostConfigError
from whimbrel.base.numbers import atoi, is_digits
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.modules.php.mod_php.settings import (
    PhpDirConfig,
    PhpServerConfig,
    set_admin_flag,
    set_admin_value,
    set_flag,
    set_ini_dir,
    set_value,
)
from whimbrel.registry.module import PROGRAMS, CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.programs import ProgramHost

MISSING: Final = (
    "no PHP on this machine: install php-fpm or php-cgi "
    "(Debian and Ubuntu: apt-get install php-fpm; Fedora: dnf install php-fpm)"
)
SLOTS: Final = 256  # instances of PHP that run at the same time
CHILDREN: Final = "PHP_FCGI_CHILDREN"  # of the server's environment: requests at once
# of the server's environment; $_SERVER of libphp has none of it, but php-fpm shows what it has
PASSED: Final = ("PATH", "TZ", "LD_LIBRARY_PATH", "TMPDIR")
_TYPES: Final = ("application/x-httpd-php", "application/x-httpd-php-source")


def make_handler(scope: Scope, *, module: str, script: str) -> CompiledHook | None:
    """Make the handlers of one module; *script* is its name for AddHandler."""
    from whimbrel.modules.php.mod_php.handler import make_handler as make  # imports what -t does not need

    return make(scope, module, (*_TYPES, script))


def start_programs(configuration: Configuration, host: ProgramHost, *, module: str, major: int) -> list[Any]:
    """Start the keeper of PHP's processes. Raises PostConfigError."""
    from whimbrel.modules.php.mod_php.interpreter import NO_SETTINGS, PhpPool, find_interpreter
    from whimbrel.modules.php.mod_php.messages import PhpMessages
    from whimbrel.modules.support.processes.manager import NotStarted, ProcessManager
    from whimbrel.modules.support.processes.program import KeeperLimits

    interpreter = find_interpreter(major)
    if interpreter is None:
        raise PostConfigError(module, ("crit", f"{module}: {MISSING}"), coded=False)
    environment = dict(configuration.options.environment or os.environ)
    spec = configuration.spec
    main = configuration.main
    wanted = environment.get(CHILDREN, "")
    children = atoi(wanted) if is_digits(wanted) else main.config(MpmConfig).max_workers
    pool = PhpPool(
        interpreter,
        children=children or spec.max_workers,
        max_requests=spec.requests_per_child,
        ini_dir=main.config(PhpServerConfig).ini_dir,
        environment={name: environment[name] for name in PASSED if environment.get(name)},
    )
    limits = KeeperLimits(most=SLOTS, score_limit=SLOTS, error_scan=1.0)
    manager = ProcessManager("php", limits, PhpMessages, slots=SLOTS)
    manager.context = pool
    manager.initial = lambda directory: [pool.program(NO_SETTINGS, directory)]
    try:
        manager.start(host)
    except (NotStarted, OSError) as problem:
        text = f"{module}: the processes of PHP cannot be started: {problem}"
        raise PostConfigError(module, ("crit", text), coded=False) from None
    return [manager]


def _module(number: str, major: int) -> Module:
    """Return the module of PHP *number* ("" for 8 and later)."""
    name = f"php{number}"
    return Module(
        name=f"{name}_module",
        source=f"mod_{name}.c",
        dir_config=PhpDirConfig,
        server_config=PhpServerConfig,
        dir_setters={
            "php_value": set_value,
            "php_flag": set_flag,
            "php_admin_value": set_admin_value,
            "php_admin_flag": set_admin_flag,
        },
        server_setters={"PHPINIDir": set_ini_dir},
        hooks=(Hook(HANDLER, partial(make_handler, module=name, script=f"{name}-script"), Order.MIDDLE),),
        providers=(Provider(PROGRAMS, "php", partial(start_programs, module=name, major=major)),),
    )


PHP5 = _module("5", 5)
PHP7 = _module("7", 7)
PHP = _module("", 8)
