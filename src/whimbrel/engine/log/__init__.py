"""Error-log lines and their formats (ErrorLogFormat).

Public: error_log, error_log_format, error_log_line.
Access logs are mod_log_config's.
Must not import: server.
"""
