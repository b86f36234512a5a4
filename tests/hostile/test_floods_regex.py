"""Short form of the measure: long searches against Whimbrel alone; another client is served beside them."""

from __future__ import annotations

import pytest

from tests.hostile.floods_regex import CONF, FLOODS, documents
from tests.hostile.floods_work import Attack
from tests.hostile.latency import HonestClient
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

pytest.importorskip("lxml", reason="mod_proxy_html needs lxml")
LONGEST = 3.0  # seconds of any answer on a busy machine; a search on the event loop took 5 to 30


def test_another_client_is_served_beside_long_searches() -> None:
    with ServerProcess(WHIMBREL, HostileSite(CONF, documents())) as server:
        for flood in FLOODS:
            with Attack(server, flood, 3), HonestClient(server).at_work() as honest:
                honest._ended.wait(0.2)  # a request that waits for a search is counted with all its time
            assert honest.failures == 0, flood.name
            assert max(honest.seconds) < LONGEST, flood.name
        assert "Traceback" not in server.output
