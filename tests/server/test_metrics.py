"""SetHandler whimbrel-metrics on a running server: counts of all workers, and access by the section."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tests.server.conftest import ServerProcess

EXTRA = """LoadModule status_module m/mod_status.so
LoadModule authz_host_module m/mod_authz_host.so
ExtendedStatus On
<Location /metrics>
SetHandler whimbrel-metrics
Require ip 127.0.0.1
</Location>
<Location /closed>
SetHandler whimbrel-metrics
Require ip 192.0.2.1
</Location>
"""


@pytest.mark.skipif(
    find_spec("prometheus_client") is None, reason="the package prometheus-client is not installed"
)
def test_requests_are_counted(server: ServerProcess) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    (server.root / "conf/extra.conf").write_text(EXTRA)
    server.start()
    for _ in range(5):
        server.get()

    def accesses() -> float:
        head, _, body = server.get("/metrics").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n"), server.errors()
        if b"chunked" in head:
            body = b"".join(part for part in body.split(b"\r\n") if len(part) > 8)
        families = {family.name: family for family in text_string_to_metric_families(body.decode())}
        assert families["apache_up"].samples[0].value == 1
        states = {sample.labels["state"]: sample.value for sample in families["apache_workers"].samples}
        assert states["busy"] >= 1
        return families["apache_accesses"].samples[0].value

    server.wait_for(lambda: accesses() >= 5)
    assert server.get("/closed").startswith(b"HTTP/1.1 403 ")
