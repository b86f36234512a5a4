"""Modules for debugging. Manual: mod/.

Modules: mod_bucketeer, mod_dumpio.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
