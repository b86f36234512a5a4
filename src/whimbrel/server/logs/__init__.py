"""Log sinks: files, syslog, piped programs. Manual: logs.html.

Public: logs.{Logs, LogFile}, piped_logs.
Lines are written once per tick; the master restarts a program that ends.
Must not import: master (except for messages), http1, http2.
"""
