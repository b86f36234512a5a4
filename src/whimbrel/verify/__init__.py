"""Proof that two configurations give the same answers, or what differs, for whom and by which lines.

Public: side.Side (a configuration loaded under a dialect, with its engine), loading.{load_side, load_sides},
probe.{Probe, ProbeUser, TlsFacts}, answer.{Answer, DecidingLine}, difference.{compare, Difference, VARIABLE}.
An engine that answers probes runs no program, contacts no back end and writes no log.
Must not import: replay, report, server, cli, testing.
"""
