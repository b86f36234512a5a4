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


OF_VARIABLES = {
    "REMOTE_ADDR": Facts(client="10.9.8.7"),
    "REMOTE_HOST": Facts(client_host="c.test"),
    "REQUEST_METHOD": Facts(method="PUT"),
    "REQUEST_URI": Facts(target="/a/b"),
    "HTTP_HOST": Facts(host="a.test"),
    "SERVER_NAME": Facts(host="a.test"),
    "QUERY_STRING": Facts(query="x=1"),
    "HTTP_USER_AGENT": Facts((("User-Agent", "bot"),)),
    "HTTP_X_FORWARDED_FOR": Facts((("X-Forwarded-For", "1.1.1.1"),)),
}


def value_of(facts: Facts) -> str:
    """Return the one value that is set."""
    values = [getattr(facts, name) for name in ("client", "client_host", "method", "target", "host", "query")]
    return next(filter(None, values), facts.fields[0][1] if facts.fields else "")


@pytest.mark.parametrize("name", OF_VARIABLES)
def test_each_variable_in_each_place(name: str) -> None:
    facts = OF_VARIABLES[name]
    value = value_of(facts)
    pattern = f"^{value}$".replace(".", r"\.")
    assert condition_facts(f"%{{{name}}}", pattern) == [facts]
    assert condition_facts(f"%{{{name}}}", f"={value}") == [facts]
    assert facts in list(expression_facts(f"%{{{name}}} == '{value}'"))
    assert facts in list(expression_facts(f'%{{{name}}} = "{value}"'))
    if facts.fields or name in ("REMOTE_ADDR", "REMOTE_HOST", "REQUEST_METHOD", "REQUEST_URI"):
        attribute = facts.fields[0][0] if facts.fields else name.title()
        assert facts in list(
            facts_of_line(ConfigLine("setenvif", f'{attribute} "{pattern}" v', "", 1, SCOPE))
        )


@pytest.mark.parametrize("call", ["req", "http", "req_novary"])
@pytest.mark.parametrize(
    ("test", "value"),
    [
        ("== 'new'", "new"),
        ("= 'new'", "new"),
        ("=~ /^new$/", "new"),
        ("=~ m#^new$#", "new"),
        ("-strmatch 'ne*w'", "nexw"),
        ("-strcmatch 'ne?w'", "nexw"),
        ("-in { 'old', 'new' }", "new"),
        ("in { 'new', 'old' }", "new"),
        ("-eq 7", "7"),
        ("-ipmatch '10.1.0.0/16'", "10.1.0.1"),
    ],
)
def test_each_operator(call: str, test: str, value: str) -> None:
    assert Facts((("X-Kind", value),)) in list(expression_facts(f"{call}('X-Kind') {test}"))
    assert Facts((("X-Kind", value),)) in list(expression_facts(f"%{{HTTP:X-Kind}} {test}"))


@pytest.mark.parametrize(
    "text", ["-R '10.2.0.0/16'", "-R 10.2.0.0/16", "%{REMOTE_ADDR} -ipmatch '10.2.0.0/16'"]
)
def test_networks_of_expressions(text: str) -> None:
    assert Facts(client="10.2.0.1") in list(expression_facts(text))


@pytest.mark.parametrize(
    ("name", "args", "facts"),
    [
        ("setenvifnocase", "Request_Protocol HTTP/1\\.0 old", Facts(protocol="HTTP/1.0")),
        ("setenvif", "^X-(A|B)$ 1 v", Facts((("X-A", "1"),))),
        ("browsermatchnocase", "evil bad", Facts((("User-Agent", "evil"),))),
        ("limitexcept", "GET>", Facts(method="GET")),
        ("limitexcept", "GET>", Facts(method="POST")),
        ("limitexcept", "GET>", Facts(method="PUT")),
        ("limitexcept", "GET>", Facts(method="OPTIONS")),
        ("limit", "GET PUT>", Facts(method="GET")),
        ("allowmethods", "GET POST", Facts(method="POST")),
        ("require", "method DELETE MKCOL", Facts(method="MKCOL")),
        ("require", "ip 10.1 10.2.0.0/255.255.0.0", Facts(client="10.2.0.1")),
        ("deny", "from 10.0.0.0/8", Facts(client="10.0.0.1")),
        ("deflatecompressionlevel", "9", Facts((("Accept-Encoding", "gzip"),))),
        ("setoutputfilter", "DEFLATE", Facts((("Accept-Encoding", "gzip"),))),
        ("addoutputfilterbytype", "DEFLATE text/html", Facts((("Accept-Encoding", "gzip"),))),
        ("addoutputfilter", "DEFLATE html", Facts((("Accept-Encoding", "gzip"),))),
        ("addlanguage", "de .de", Facts((("Accept-Language", "de"),))),
        ("addtype", "text/x-a .a", Facts((("Accept", "text/x-a"),))),
        ("script", "PUT /cgi-bin/put", Facts(method="PUT")),
        ("header", "set A b \"expr=-R '10.3.0.0/16'\"", Facts(client="10.3.0.1")),
    ],
)
def test_each_kind_of_line(name: str, args: str, facts: Facts) -> None:
    assert facts in list(facts_of_line(ConfigLine(name, args, "", 1, SCOPE)))


@pytest.mark.parametrize(
    ("subject", "pattern"),
    [
        ("%{REQUEST_URI}", "!^/a"),
        ("%{REQUEST_FILENAME}", "-d"),
        ("plain", "^a"),
        ("%{HTTP_HOST}", "="),
        ("expr", "true"),
        ("%{QUERY_STRING}", "=a b"),
    ],
)
def test_what_is_not_known_changes_nothing(subject: str, pattern: str) -> None:
    assert condition_facts(subject, pattern) == [Facts()]


def test_a_prefix_of_an_address_is_completed() -> None:
    assert condition_facts("%{REMOTE_ADDR}", r"^10\.1\.") == [Facts(client="10.1.0.1")]
    (facts,) = condition_facts("%{REMOTE_ADDR}", r"^192\.168\.7\.9")
    assert facts == Facts(client="192.168.7.9")
    assert condition_facts("%{REMOTE_ADDR}", "^999$") == [Facts()]


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
