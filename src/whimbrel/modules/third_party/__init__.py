"""Modules that httpd does not distribute and that many sites load: xsendfile, rpaf, evasive.

Modules: mod_xsendfile, mod_rpaf, mod_evasive, with the behaviour and messages of Debian's packages.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them, and
catalogue/third_party.tsv has their names.
Must not import: server, upgrade.
"""
