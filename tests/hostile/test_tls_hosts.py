"""Short forms of the measures `tls-hosts` and `vary`."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.hostile import tls_hosts, vary
from tests.hostile.measure import Budget
from tests.hostile.server import APACHE


@pytest.mark.skipif(not APACHE.is_present, reason="apache2 is not installed")
def test_no_client_enters_a_host_that_apache2_keeps_it_out_of() -> None:
    result = tls_hosts.run(Budget(120, 60))
    assert not result.failures
    assert result.figures["clients"] == 120
    assert int(result.figures["same"]) > 100


def test_no_user_gets_the_cached_response_of_another() -> None:
    result = vary.run(Budget(8, 30))
    assert not result.failures
    assert int(result.figures["urls"]) >= 4
