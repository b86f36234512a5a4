"""SSLRequireSSL beside Satisfy Any: who loses access over plain HTTP, and the line that refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.access.decisions import MODULES, decision_of, world
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.counterexamples import counterexamples
from whimbrel.verify.side import Side
from whimbrel.verify.verify import verify

BASIC = 'AuthType Basic\nAuthName x\nAuthUserFile "@ROOT@/conf/users"\n'
REQUIRED = f"{BASIC}SSLRequireSSL\nRequire valid-user\n"
OLD = f"{REQUIRED}Order deny,allow\nDeny from all\nAllow from 10.20\nSatisfy Any\n"
NEW = f"{REQUIRED}Require ip 10.20\n"


def sides(root: Path, new: str = NEW) -> tuple[Side, Side]:
    make_root(root)
    old_text, new_text = (f"<Location /private>\n{lines}</Location>\n" for lines in (OLD, new))
    return side(root, "old", old_text, "2.2", "ssl"), side(root, "new", new_text, "2.4", "ssl")


def test_a_user_over_http_loses_access(tmp_path: Path) -> None:
    # apache2 with the new text: 403 to a user with the right password over plain HTTP
    (group,) = (one for one in verify(*sides(tmp_path), limit=200).groups if one.kind == "access")
    losing = [one for one in group.examples if one.access == (200, 403)]
    assert losing and all(one.probe.tls is None and one.probe.user is not None for one in losing)
    assert "SSLRequireSSL" in [line.text for line in group.cause.new]
    assert "SSLRequireSSL" in [line.text for line in losing[0].lines[1] if line.role == "decides"]


def test_satisfy_of_access_compat_gives_the_same_access(tmp_path: Path) -> None:
    assert not [one for one in verify(*sides(tmp_path, OLD), limit=200).groups if one.kind == "access"]


@pytest.mark.parametrize("over_tls", [False, True])
def test_clients_have_the_connection_of_their_host(tmp_path: Path, *, over_tls: bool) -> None:
    both = sides(tmp_path)
    old = decision_of("2.2", OLD, world_=world("2.2", (*MODULES["2.2"], "ssl")))
    new = decision_of("2.4", NEW, space=old.space, world_=world("2.4", (*MODULES["2.4"], "ssl")))
    found = [list(examples) for _, examples in counterexamples(old, new, both, over_tls=over_tls)]
    # over TLS nothing is refused by SSLRequireSSL
    assert any(found) is not over_tls
