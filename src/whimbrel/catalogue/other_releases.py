"""Modules that httpd distributes, but not with 2.2 or 2.4 on Unix: for other systems, or in the development
version."""

from __future__ import annotations

from typing import Final

_SYSTEMS: Final = {
    "Windows": "isapi mpm_winnt win32",
    "NetWare": "mpm_netware netware nw_ssl",
    "OS/2": "mpm_mpmt_os2",
    "Solaris": "privileges",
}
_DEVELOPMENT: Final = (
    "allowhandlers auth_bearer autht_core autht_jwt cgi_socket crypto example_hooks example_ipc firehose"
    " journald lbmethod_rr log_json mpm_motorz mpm_simple noloris optional_fn_export optional_fn_import"
    " optional_hook_export optional_hook_import policy serf socache_dc ssl_ct syslog tls"
)
FOR_WINDOWS: Final = "for Windows"
OTHER_RELEASES: Final = {
    **{f"{name}_module": f"for {system}" for system, names in _SYSTEMS.items() for name in names.split()},
    **{f"{name}_module": "of its developers" for name in _DEVELOPMENT.split()},
}
"""What each module is for, by its identifier."""
