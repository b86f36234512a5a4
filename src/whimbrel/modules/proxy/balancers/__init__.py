"""Methods of choosing members of a balancer.  Manual: mod/.

Modules: mod_lbmethod_byrequests, mod_lbmethod_bytraffic, mod_lbmethod_bybusyness, mod_lbmethod_heartbeat.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
