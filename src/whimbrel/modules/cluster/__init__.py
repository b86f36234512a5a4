"""Reports about the load of servers.  Manual: mod/.

Modules: mod_heartbeat, mod_heartmonitor.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
