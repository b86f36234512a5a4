"""The table of all rows, and the modules that have none, with the reason and the test that runs them."""

from __future__ import annotations

from typing import Final

from tests.differential import module_rows, module_rows_access, module_rows_backends

ROWS: Final = module_rows.ROWS + module_rows_access.ROWS + module_rows_backends.ROWS
# module -> file with its test, and the reason why no row of the table can show its work
ELSEWHERE: Final = {
    "mod_watchdog": ("tests/differential/module_rows_backends.py", "runs the checks of mod_proxy_hcheck"),
    "mod_suexec": ("tests/unit/modules/generators/test_mod_suexec.py", "needs the setuid program suexec"),
    "mod_ident": ("tests/unit/modules/metadata/test_mod_ident.py", "asks port 113 of the client"),
    "mod_ssl": ("tests/server/test_tls.py", "needs a client of TLS"),
    "mod_md": ("tests/server/test_managed_domains.py", "needs an authority"),
    "mod_otel": ("tests/server/test_otel.py", "needs a receiver of spans"),
    "mod_http2": ("tests/server/test_http2.py", "needs a client of HTTP/2"),
    "mod_echo": ("tests/server/test_layers.py", "has no HTTP on its connections"),
    "mod_systemd": ("tests/server/test_systemd.py", "needs a socket of the service manager"),
    "mod_fcgid": ("tests/server/test_fastcgi_processes.py", "starts processes"),
    "mod_fastcgi": ("tests/server/test_fastcgi_processes.py", "starts processes"),
    "mod_evasive20": (
        "tests/differential/test_third_party_modules.py",
        "counts the requests of all virtual hosts",
    ),
    "mod_wsgi": ("tests/differential/test_wsgi_applications.py", "starts processes"),
    "libphp": ("tests/server/test_php.py", "starts php-fpm"),
    "libphp7": ("tests/server/test_php.py", "starts php-fpm"),
    "libphp5": ("tests/server/test_php.py", "starts php-fpm"),
    "mod_proxy_wstunnel": ("tests/server/test_tunnels.py", "needs a client of WebSocket"),
    "mod_proxy_ftp": ("tests/unit/modules/proxy/mod_proxy/test_unspoken.py", "refuses every mapping"),
}
