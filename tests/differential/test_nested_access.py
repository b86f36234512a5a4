"""Random zones with requests within requests get apache2's decisions; the command runs longer."""

from __future__ import annotations

import pytest

from tests.differential.nested_access import differences, random_zones
from tests.differential.servers import APACHE
from tests.support.samples import amount


@pytest.mark.skipif(not APACHE.present, reason="no apache2 on this machine: nothing to compare with")
@pytest.mark.parametrize("seed", range(1, amount(2, 3)))
def test_no_request_is_granted_that_apache2_refuses(seed: int) -> None:
    zones, modules = random_zones(seed, 8)
    opened = [str(each) for each in differences(zones, modules, 2) if each.opened]
    assert opened == []
