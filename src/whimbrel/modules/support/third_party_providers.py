"""Providers of modules that httpd does not distribute, in a configuration of another machine.

Such a module is loaded there, so the line that names its provider is in order. Here a stand-in takes its
place, and the line is among those that are left out, on which answers may depend.
"""

from __future__ import annotations

from whimbrel.base.errors import ForeignProvider
from whimbrel.config.execute import state_of
from whimbrel.directives.command import Command


def is_of_third_party(cmd: Command, group: str, name: str) -> bool:
    """Return True if a loaded module that is not here may register the provider *name* of *group*; the line
    is recorded as one that is left out.
    """
    configuration = state_of(cmd).configuration
    if not (configuration.foreign_modules and configuration.options.is_elsewhere):
        return False
    from whimbrel.config.third_party_lines import owner_of_provider  # few configurations have such modules

    product = owner_of_provider(configuration, group, name)
    if product is None:
        return False
    return configuration.leaves_out(ForeignProvider(f"{cmd.name} {name}", cmd.place, product=product))
