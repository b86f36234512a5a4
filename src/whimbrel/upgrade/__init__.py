"""Upgrade of an httpd 2.2 configuration to 2.4: findings, and the edits that fix them.

Public: check.check.check, check.fixpoint.upgrade, apply.transaction.{write, undo, recover},
model.{Finding, UpgradeOptions}, rule.Rule.
Order: model, source, rule, edits, files, access_control, rules, check; apply and documents stand beside them.
Must not import: server, cli, report, lsp.  It never changes a file outside of apply/.
"""
