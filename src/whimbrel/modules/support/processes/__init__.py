"""FastCGI processes that the server starts itself, shared by all workers: mod_fcgid, mod_fastcgi, mod_php.

Public: `program` (what is started), `table` (shared memory: who uses which process), `keeper` (the process
that starts, watches and stops), `manager` (its side in the master and the workers), `lease` (one process for
one request).
Must not import: server, upgrade.
"""
