"""FastCGI applications that the server starts: mod_fcgid of Apache, mod_fastcgi of fastcgi.com.

Modules: mod_fcgid, mod_fastcgi; their processes are those of `modules.support.processes`.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, upgrade.
"""
