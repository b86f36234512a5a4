"""Programs in Lua as parts of the server.  Manual: mod/.

Modules: mod_lua.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
