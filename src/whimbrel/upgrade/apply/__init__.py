"""Writing an upgrade to disk: all files or none, with backups, a journal, recovery and undo.

Public: transaction.{write, undo, recover, WriteError, Journal, JournalEntry}, backup_paths. The journal
states are preparing, renaming, done and undoing; recover() completes an interrupted run.
Must not import: any other package of upgrade/ except source. It gets bytes by path and knows no directives.
"""
