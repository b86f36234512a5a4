"""Process settings of the multi-processing modules.  Manual: mod/.

Modules: mpm, settings, listen.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
