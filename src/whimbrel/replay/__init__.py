"""Logged requests sent through two configurations: what changes, how often, for whom, by which lines.

Public: log_format.LineFormat, log_files.pieces_of, tally.Tally, work.{ReplayWork, Replayer},
local.run_local, cluster.run_cluster, summary.Summary, text, html.
Answers come from `verify`; nothing here decides about a request.
Must not import: report, server, cli, testing.
"""
