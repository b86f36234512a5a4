"""httpd's modules/examples: modules that show an interface, and that httpd's own tests load.

Modules: mod_case_filter.
Must not import: server, upgrade, access, cli.
"""
