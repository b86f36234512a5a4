"""Short form of the measure: two floods against Whimbrel alone.

Only responses are checked, since processor time varies on a busy machine.
"""

from __future__ import annotations

from tests.hostile.floods_work import CONF, FLOODS, Attack, _documents
from tests.hostile.latency import HonestClient
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from tests.server.conftest import within


def test_an_honest_client_is_served_beside_each_flood() -> None:
    with ServerProcess(WHIMBREL, HostileSite(CONF, _documents())) as server:
        folder = server.root / "htdocs/list"
        folder.mkdir()
        for number in range(2000):
            (folder / f"file{number}.txt").touch()
        (server.root / "users").write_text(
            "joe:$2y$05$5J8ZBwsPeCVKRyF0D3hI9O9L0pu5c8L8m3dVdU2yPqYbO8NnUOu2S\n"
        )
        for flood in FLOODS:
            if flood.name not in ("listing", "bcrypt", "slow CGI", "SSI"):
                continue
            with Attack(server, flood, 3), HonestClient(server).at_work() as honest:
                honest._ended.wait(0.2)
                assert within(lambda honest=honest: len(honest.seconds) > 5, 10)  # type: ignore[misc]
            assert honest.failures == 0
        assert "Traceback" not in server.output
