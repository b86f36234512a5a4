"""Modules of httpd's modules/test: examples of what a module can do.

Modules: mod_dialup.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
