"""Scope of knowledge: what a tool read of its input, and what is unknown there.

Public: scope.{UnknownKind, UnknownItem, KnowledgeScope}, lines.{undefined_variables, missing_user_files},
loaded.scope_of, start_stops.{StartStops, start_stops}. check, upgrade, verify, explain and replay share it;
report/knowledge.py renders it.
Must not import: verify, explain, replay, report, cli.
"""
