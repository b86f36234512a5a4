"""Database files of AuthDBM*, RewriteMap dbm: and htdbm: Berkeley DB, SDBM, GDBM; readers and writers.

Public: open.open_dbm, bdb, sdbm, gdbm, and their writers.
Formats are read from their published descriptions; the readers need no library.
Must not import: any other package of modules.
"""
