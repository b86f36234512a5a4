"""Process settings of the multi-processing modules. Manual: mod/.

Modules: mpm, settings, listen.
Each MPM has one `Module` with directives and checks; whimbrel.modules lists them.
Must not import: server, cli.
"""
