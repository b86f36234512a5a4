"""Sockets, processes, signals and protocol state machines around an engine.

Public: master.master.Master and master.single_process.serve start it.
Packages: master, worker (one event loop), connection (layers below a protocol), http1, http2, logs.
Must not import: modules (it calls their providers), cli, upgrade, verify, replay, report.
"""
