"""Commands: `whimbrel` (typer) and `whimbrel-httpd` (httpd's own options), one module for each command.

Public: entry.main, httpd.main, and run(program) of httpd's utilities (htpasswd, htdbm, htdigest, httxt2dbm, rotatelogs, logresolve, apachectl).
Heavy imports stand inside functions: -v, -V, -l and -t must start in milliseconds.
Must not be imported by any other package.
"""
