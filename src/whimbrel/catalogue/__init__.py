"""Every directive and module of httpd 2.2 and 2.4, as data."""

from whimbrel.catalogue.load import Catalogue, ModuleRow, Row, catalogue

__all__ = ["Catalogue", "ModuleRow", "Row", "catalogue"]
