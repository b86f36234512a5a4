"""Sockets, processes, signals and protocol state machines around an engine.

Packages: master (parent process), worker (one event loop), connection (layers below a protocol), http1, http2, logs.
Programs start it by master.master.Master or master.single_process.serve.
Must not import: modules, cli, upgrade, verify, replay, report.
"""
