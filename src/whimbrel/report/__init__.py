"""Result of a check as one model: entries with file and line, counts, baselines.

Public: model.{Report, ReportEntry, summary}, baselines.{load, save, remove_baselined}, formats/.
Paths and texts have one character per byte; formats encode them.
Must not import: cli, server, any rule.
"""
