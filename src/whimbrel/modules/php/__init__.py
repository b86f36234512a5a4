"""PHP in the server: directives and handlers of PHP's own module (libphp5.so, libphp7.so, libphp.so).

Modules: mod_php, which has one `Module` for each of these files; whimbrel.modules lists them.
Its processes are those of `modules.support.processes`.
Must not import: server, upgrade.
"""
