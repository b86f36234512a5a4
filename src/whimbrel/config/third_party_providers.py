"""Providers of modules that httpd does not distribute, in a configuration of another machine.

Such a module is loaded there, so the line that names its provider is in order. Here a stand-in takes its
place, and the line is among those that are left out, on which answers may depend.
"""

from __future__ import annotations

from whimbrel.catalogue.third_party import product_of
from whimbrel.config.configuration import Configuration


def owner_of_provider(configuration: Configuration, group: str, name: str) -> str | None:
    """Return the product of the loaded module that may register the provider *name* of *group*, "" for a
    module that is in no table, None if no module that is not here may do so.
    """
    found = None
    for identifier in sorted(configuration.foreign_modules):
        product = product_of(identifier)
        if product is None:
            found = ""
        elif product.may_register(group, name):
            return product.name
    return found
