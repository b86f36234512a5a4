"""Upgrade rules about processes: MPM limits, user and locks, keep-alive, piped logs, old names of directives.

Public: the `RULE` of each file; upgrade.rules.rules_of("process") finds them.
The rules share the edits of upgrade.edits and the queries of upgrade.source.queries.
Must not import: check, apply, cli; other areas of rules.
"""
