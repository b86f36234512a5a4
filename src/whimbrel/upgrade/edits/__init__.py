"""Building, combining and showing edits: byte ranges of the files as they were read.

Public: conflicts.{EditSelection, resolve_conflicts}, helpers, load_module.LoadModuleLines, diff.unified_diff.
Edits of one finding form a group that is applied as a whole or not at all.
Must not import: rules, check, apply, access_control, files.
"""
