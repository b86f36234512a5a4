"""Host names: both servers accept the same ones, choose the same virtual host and build the same URLs.

WHIMBREL_DIFF_SECONDS asks for more random names: some 50 a second.
"""

from __future__ import annotations

import os

import pytest

from tests.differential.host_names import host_names, requests
from tests.differential.raw_exchange import Documents, both, differences

CONF = """HttpProtocolOptions {mode}
UseCanonicalName Off
<Directory "%ROOT%">
    Require all granted
</Directory>
<VirtualHost *:*>
    ServerName localhost
</VirtualHost>
<VirtualHost *:*>
    ServerName other
    ServerAlias 1.2.3.4 ::1 a a.b "" *.b
    Redirect /list http://second/
</VirtualHost>
"""
COUNT = 50 * int(os.environ.get("WHIMBREL_DIFF_SECONDS", "6"))


@pytest.mark.parametrize("mode", ["Strict", "Unsafe"])
def test_host_names(mode: str) -> None:
    with both(CONF.format(mode=mode), Documents({})) as servers:
        assert differences(servers, requests(host_names(COUNT, 1))) == {}
