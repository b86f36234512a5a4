"""Coverage of a verification: the lines that differ between two sides, and how each of them was decided.

Public: coverage.Coverage, decided_by.{DecidedBy, decided_by}.
Must not import: upgrade, replay, report.
"""
