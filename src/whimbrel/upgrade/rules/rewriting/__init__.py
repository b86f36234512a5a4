"""Upgrade rules about mod_rewrite and mod_alias: unsafe URLs, patterns, redirects.

Public: the `RULE` of each file; upgrade.rules.rules_of("rewriting") finds them.
lines and patterns read RewriteRule and RewriteCond for all of them.
Must not import: check, apply, cli; other areas of rules.
"""
