"""Upgrade rules about access control: Order, Allow, Deny, Satisfy, Require, AllowOverride and password files.

Public: the `RULE` of each file; upgrade.rules.rules_of("access") finds them.
Most rules select their findings from one shared analysis, upgrade.access_control.
Must not import: check, apply, cli; other areas of rules.
"""
