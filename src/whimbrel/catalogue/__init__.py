"""Every directive and module of httpd 2.2 and 2.4, as data.

Public: catalogue(version), Catalogue, DirectiveEntry, ModuleEntry; ignorable.ignorable_reason;
context_rules.violated; handlers.modules_of; log_sources.source_of; third_party.product_of;
written_files.WRITTEN; checks.
Data: directives-VERSION.tsv, modules.tsv, third_party.tsv, handlers.tsv, ignorable.tsv, log_sources.tsv.
Must not import: syntax trees, directives, config, modules.
"""

from whimbrel.catalogue.load import Catalogue, DirectiveEntry, ModuleEntry, catalogue

__all__ = ["Catalogue", "ModuleEntry", "DirectiveEntry", "catalogue"]
