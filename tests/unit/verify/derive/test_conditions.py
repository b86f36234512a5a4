"""Facts under which conditions hold."""

from __future__ import annotations

import pytest

from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.derive.conditions import (
    condition_facts,
    expression_facts,
    facts_of_line,
    failing_facts,
    first_address,
)
from whimbrel.verify.derive.facts import Facts
from whimbrel.verify.probe import Probe

SCOPE = LineScope("server", "", "", 0)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("setenvif", 'User-Agent "^Bot" bad', Facts((("User-Agent", "Bot"),))),
        ("setenvif", "Remote_Addr ^10\\.1\\. near", Facts(client="10.1.0.1")),
        ("setenvif", "Request_Method ^PUT$ writing", Facts(method="PUT")),
        ("browsermatch", "evil bad", Facts((("User-Agent", "evil"),))),
        ("limit", "PUT>", Facts(method="PUT")),
        ("allow", "from 10.2", Facts(client="10.2.0.1")),
        ("require", "ip 192.168.1.7", Facts(client="192.168.1.7")),
        ("require", "expr \"%{HTTP_X_KIND} == 'new'\"", Facts((("X-Kind", "new"),))),
        ("require", "expr \"req('X-Kind') =~ /^a/\"", Facts((("X-Kind", "a"),))),
        ("header", "set A b \"expr=%{QUERY_STRING} == 'q'\"", Facts(query="q")),
    ],
)
def test_lines(name: str, args: str, expected: Facts) -> None:
    assert expected in list(facts_of_line(ConfigLine(name, args, "", 1, SCOPE)))


def test_conditions_of_rewriting() -> None:
    assert condition_facts("%{HTTP:X-Kind}", "^new$") == [Facts((("X-Kind", "new"),))]
    assert condition_facts("%{HTTP_HOST}", "^www\\.a\\.test$") == [Facts(host="www.a.test")]
    assert condition_facts("%{REQUEST_FILENAME}", "-f") == [Facts()]
    assert condition_facts("%{HTTP_REFERER}", "!^$") == [Facts()]


def test_conditions_that_fail() -> None:
    assert failing_facts("%{HTTP:X-Kind}", "^new$") == Facts()
    assert failing_facts("%{HTTP:X-Kind}", "!^new$") == Facts((("X-Kind", "new"),))


def test_addresses() -> None:
    assert [first_address(text) for text in ("10", "10.1.0.0/16", "10.1.2.3", "::1", "a.test", "")] == [
        "10.0.0.1",
        "10.1.0.1",
        "10.1.2.3",
        "::1",
        "",
        "",
    ]


def test_bad_text_has_no_facts() -> None:
    assert list(expression_facts("%{HTTP:")) == [] and list(expression_facts("(('")) == []


def test_facts_change_a_probe() -> None:
    probe = Facts((("A", "1"),), query="x=1", method="PUT").applied(
        Probe("/p?y", fields=(("a", "0"), ("b", "2")))
    )
    assert (probe.target, probe.method, probe.fields) == ("/p?x=1", "PUT", (("b", "2"), ("A", "1")))
