"""Log sinks: files, syslog, piped programs.  Manual: logs.html.

Public: logs.{Logs, LogFile}, piped_logs.
Lines are written once per tick; a program that ends is started again by the master.
Must not import: master, http1, http2.
"""
