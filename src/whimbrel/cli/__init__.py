"""Commands: `whimbrel` (typer) and `whimbrel-httpd` (httpd's own options), one module for each command.

Public: entry.main, httpd.main, and run(program) of each utility of httpd (utility_table.UTILITIES).
Shared options, exit codes and the epilog stand in options; the table of utilities in utility_table.
Heavy imports stand inside functions: -v, -V, -l and -t must start in milliseconds.
Must not be imported by any other package.
"""
