"""Upgrade rules about the core: Include, Options, defaults, values, virtual hosts and request syntax.

Public: the `RULE` of each file; upgrade.rules.rules_of("core") finds them.
The rules share the edits of upgrade.edits and the queries of upgrade.source.queries.
Must not import: check, apply, cli; other areas of rules.
"""
