"""Probes derived from the lines of a configuration: hosts, targets, header fields, methods, clients.

Public: probes.derive_probes, conditions.facts_of_line, facts.Facts.
Must not import: upgrade.
"""
