"""Upgrade rules about messages: what 2.4 logs when it reads the text of 2.2, and log formats.

Public: the `RULE` of each file; upgrade.rules.rules_of("messages") finds them.
They read the text as it is: upgrade.check runs them before any edit.
Must not import: check, apply, cli; other areas of rules.
"""
