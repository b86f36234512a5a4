"""Every directive and module of httpd 2.2 and 2.4, as data."""

from whimbrel.catalogue.load import Catalogue, DirectiveEntry, ModuleEntry, catalogue

__all__ = ["Catalogue", "ModuleEntry", "DirectiveEntry", "catalogue"]
