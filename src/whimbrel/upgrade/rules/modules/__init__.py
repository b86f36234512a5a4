"""Upgrade rules about modules: LoadModule lines, third-party modules, branches on modules and build options.

Public: the `RULE` of each file; upgrade.rules.rules_of("modules") finds them.
Must not import: check, apply, cli; other areas of rules.
"""
