"""Modules that httpd does not distribute and that many sites load: xsendfile, rpaf, evasive.

Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them, and
catalogue/third_party.tsv has their names. Behaviour and messages are those of Debian's packages.
Must not import: server, upgrade.
"""
