"""CGI programs (RFC 3875): environment, process, script head, ScriptLog.

Public: environment.{add_common_vars, add_cgi_vars}, program, script, script_head, script_log, suexec.
The output of a program is read as the client takes it, never buffered without a bound.
Must not import: a module.
"""
