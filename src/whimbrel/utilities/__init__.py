"""Parts shared by httpd's utilities: APR option parsing, password prompt, hashes, DBM files, log rotation.

Public: usage_error.UsageError, options.{UtilityProgram, parse, Exit}, password_prompt,
hashing.hash_password, dbm_edit.DbmDatabase, rotation.
Messages and exit codes are those of httpd's programs.
Must not import: server, engine, cli.
"""
