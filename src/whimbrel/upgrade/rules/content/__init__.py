"""Upgrade rules about content: filters, SSI, DAV, authentication providers and log levels of content modules.

Public: the `RULE` of each file; upgrade.rules.rules_of("content") finds them.
debug_level is shared by the rules about DebugLevel arguments.
Must not import: check, apply, cli; other areas of rules.
"""
