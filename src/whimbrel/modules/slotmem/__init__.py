"""Shared memory in slots of one size.  Manual: mod/.

Modules: mod_slotmem_plain, mod_slotmem_shm.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
