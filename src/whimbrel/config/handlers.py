"""Handlers that a configuration names: each is implemented by a loaded module, stops the start, or gives a
warning.

A file whose handler is not run is sent as it is, with the text of the program in it.  httpd does that if no
loaded module implements the handler. If one does and has no behaviour here, the start is refused.  For a name
that only a request determines, the core's guard (modules/core/handler.py) refuses the request.
"""

from __future__ import annotations

import re

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError
from whimbrel.catalogue.handlers import modules_of
from whimbrel.catalogue.load import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import CommandContext

ACTIONS = "actions"  # declared by Action: handlers and media types that scripts implement
_COMPUTED = re.compile(r"[%$]")
_NEVER_RUN = frozenset(("", "none", "default-handler"))


def version_text(dialect: Dialect) -> str:
    """Return the version of httpd as the catalogue has it: "2.2" or "2.4"."""
    return "{}.{}".format(*dialect.version)


def note_handler(state: CommandContext, written: str, *, is_type: bool = False) -> None:
    """Note a name that the present directive gives, with ``%`` or ``$`` where a request computes the rest.

    *is_type*: *written* is a media type, which matters if it is a handler's name too.  Raises ConfigError in
    a .htaccess file whose handler a loaded module implements and Whimbrel does not.
    """
    name = (_COMPUTED.split(written)[0] + "*" if _COMPUTED.search(written) else written).lower()
    if name in _NEVER_RUN or name == "*" or (is_type and not modules_of(name, version_text(state.dialect))):
        return
    if not state.in_htaccess:
        state.configuration.handlers.append((state.node, name))
    elif lacking := lacking_module(state.configuration, name):
        raise ConfigError(f"handler {name} ({lacking}.c) has no behaviour in Whimbrel yet")


def lacking_module(configuration: Configuration, name: str) -> str:
    """Return the file of a loaded module that implements the handler *name* and has no behaviour here; "" if
    there is none, or another module has it.
    """
    loaded = _loaded(configuration, name)
    return "" if not loaded or any(file in configuration.available for file in loaded) else loaded[0]


def is_implemented(configuration: Configuration, name: str) -> bool:
    """True if a loaded module or an Action takes files with the handler *name*, or it may yet be so."""
    return (
        name.endswith("*")
        or bool(_loaded(configuration, name))
        or name in configuration.declared_names.get(ACTIONS, ())
    )


def _loaded(configuration: Configuration, name: str) -> list[str]:
    version = version_text(configuration.dialect)
    known = catalogue(version)
    rows = ((file, known.module_of_file(file)) for file in modules_of(name, version))
    return [file for file, row in rows if row is not None and configuration.loaded(row.identifier)]


def unimplemented_words(configuration: Configuration, name: str) -> str:
    """Return the warning about a handler that no loaded module implements."""
    owners = modules_of(name, version_text(configuration.dialect))
    return (
        f'no loaded module implements the handler "{name}"{f" of {owners[0]}" if owners else ""}: its '
        f"files are sent as they are"
    )
