"""Open conditions of branches."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.source.conditions import is_lost, is_unclear, literals

CONF = (
    "<IfDefine !X>\n<IfModule mod_ssl.c>\nOrder deny,allow\n</IfModule>\n"
    "</IfDefine>\n<IfModule ssl_module>\nAllow from all\n</IfModule>\n"
    "<IfVersion < 2.4>\nDeny from all\n</IfVersion>\n<IfVersion what>\nSatisfy Any\n</IfVersion>\n"
)


def test_a_literal_has_its_name_as_it_is_written(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {"conf/httpd.conf": CONF})
    order, allow = next(found.named("order")), next(found.named("allow"))
    assert [literal.text for literal in literals(order, None)] == ["without -D X", "with mod_ssl.c"]
    assert literals(order, None)[1] == literals(allow, None)[0]
    assert literals(order, None)[0].around(()).args == "!X"


def test_what_2_4_may_not_read_is_lost_or_unclear(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {"conf/httpd.conf": CONF})
    assert [
        is_lost(next(found.named(name, include_inactive=True)), None) for name in ("order", "deny", "satisfy")
    ] == [False, True, False]
    assert [
        is_unclear(next(found.named(name, include_inactive=True)), None)
        for name in ("order", "deny", "satisfy")
    ] == [False, False, True]
