"""httpd's modules/proxy: requests passed on to other servers. Manual: mod/.

Modules: mod_proxy, mod_proxy_balancer; others plug in through `mod_proxy.scheme`.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
