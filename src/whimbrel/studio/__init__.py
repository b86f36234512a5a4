"""The local page of `whimbrel studio`: a configuration, its findings, and the way of a request through it.

Public: session.StudioSession, module.load_server, nursery.start_nursery, analysis.Analysis.
A server of ours serves the page and keeps the edits (session, api, page, module). Processes without rights to
start programs compute what it shows (nursery, process, analysis, answers, slices, findings, changes).
Must not import: cli, testing.
"""
