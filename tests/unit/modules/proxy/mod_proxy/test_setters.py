"""Directives of mod_proxy: messages and warnings. All texts are those of apache2 -t 2.4.71."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import create_autospec

import pytest
from tests.support.proxy_site import ProxySite

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.modules.proxy.mod_proxy.excluded_hosts import direct_destination
from whimbrel.modules.proxy.mod_proxy.model import WorkerStatus
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig

GUESSED = "Warning: NetMask not supplied with IP-Addr; guessing: "
PAIR = "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'."


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ProxyPass /", "ProxyPass|ProxyPassMatch needs a path when not defined in a location"),
        ("ProxyPass / http://h/ x", PAIR),
        ("ProxyPass / http://h/ mapping=x", "unknown mapping"),
        ("ProxyPass / http://h/ max=-1", "ProxyPass Max must be a positive number"),
        (
            "ProxyPass / http://h/ upgrade=" + "a" * 16,
            "ProxyPass upgrade protocol length must be < 16 characters",
        ),
        ("ProxyPass / http://h/ secret=" + "a" * 64, "ProxyPass Secret length must be < 64 characters"),
        ("ProxyPass / http://h/ status=X", "ProxyPass Unknown status parameter option"),
        ("ProxyPass / http://h/ foo=1", "ProxyPass unknown Worker parameter"),
        ("ProxyPass / http://h/ loadfactor=0.5", "ProxyPass LoadFactor must be a number between 1..100"),
        (
            "ProxyPass / http://h/ responsefieldsize=-1",
            "ProxyPass ResponseFieldSize must be greater than 0 bytes, or 0 for system default.",
        ),
        ("ProxyPass / balancer:x", "ProxyPass Bad syntax for a balancer name (balancer:x)"),
        ("ProxyPass / unix:/foo|", 'ProxyPass|ProxyPassMatch uses an invalid "unix:" URL'),
        ("ProxyPass / unix:", "ProxyPass URL must be absolute!: unix:"),
        ("ProxyPassMatch ( http://h/", "Regular expression could not be compiled."),
        (
            "<Proxy http://h/ timeout=x>\n</Proxy>",
            "<Proxy Timeout must be at least one second timeout=x; http://h/",
        ),
        ("<Proxy ~ x>\n</Proxy>", "<Proxy> arguments are not supported for non url."),
        ("ProxySet http://h/ max=1", "ProxySet can not find 'http://h/' Worker."),
        ("BalancerMember balancer://x", "BalancerMember must define remote proxy server"),
        ("ProxyRemote * h:80", "ProxyRemote: Bad syntax for a remote proxy server"),
        ("ProxyErrorOverride 404", "ProxyErrorOverride first parameter must be one of: off | on"),
    ],
)
def test_messages(line: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as problem:
        ProxySite(tmp_path, line + "\n")
    assert problem.value.reason == text


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        ("10", [GUESSED + "10.0.0.0/8"]),
        ("10.1.2", [GUESSED + "10.1.2.0/24"]),
        ("010.1", [GUESSED + "8.1.0.0/16"]),
        ("0x7", [GUESSED + "7.0.0.0/8"]),
        ("10.1/8", ["Warning: NetMask and IP-Addr disagree in 10.1.0.0/8", "         Set to 10.0.0.0/8"]),
        ("1.2.3.4", []),
        ("10.1.2.0/24", []),
        (".example.com", []),
    ],
)
def test_networks(word: str, texts: list[str], tmp_path: Path) -> None:
    site = ProxySite(tmp_path, f"NoProxy {word}\n")
    assert [message.text for message in site.engine.configuration.messages] == texts


@pytest.mark.parametrize(
    ("word", "address", "mask"),
    [
        ("10", 0x0A000000, 0xFF000000),
        ("10.1/8", 0x0A000000, 0xFF000000),
        ("1.2.3.4", 0x01020304, 0xFFFFFFFF),
        ("1.2.3.4/32", 0x01020304, 0xFFFFFFFF),
        ("0/0", 0, 0),
        ("1.2.3.4/", None, None),
        ("1.2.3.4/x", None, None),
        ("1.2.3.4.5", None, None),
        ("1.2.3.4/33", None, None),
        ("1.2.3.4/8x", None, None),
        ("256.1", None, None),
        ("1x", None, None),
    ],
)
def test_which_words_are_networks(
    word: str, address: int | None, mask: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """proxy_util.c, ap_proxy_is_ipaddr: a mask is a slash with a digit behind it, and ends the word."""
    command = create_autospec(Command, instance=True)
    monkeypatch.setattr("whimbrel.modules.proxy.mod_proxy.excluded_hosts.unresolved", lambda _name: "unknown")
    found = direct_destination(command, word)
    assert (found.kind == "network") is (address is not None)
    assert found.network == ((address, mask) if address is not None else (0, 0))


def test_shared_workers(tmp_path: Path) -> None:
    conf = "ProxyPass /a http://h/a timeout=2\nProxyPass /b http://h/a/b timeout=3\n"
    site = ProxySite(tmp_path, "LogLevel info\n" + conf)
    (worker,) = site.engine.main.config(ProxyServerConfig).workers
    assert worker.parameters.timeout == 2
    assert [(message.code, message.text) for message in site.engine.configuration.messages] == [
        ("AH01145", "Sharing worker 'http://h/a' instead of creating new worker 'http://h/a/b'"),
        ("AH01146", "Ignoring parameter 'timeout=3' for worker 'http://h/a' because of worker sharing"),
    ]


def test_parameters(tmp_path: Path) -> None:
    conf = (
        "ProxyTimeout 9\n"
        "ProxyPass / http://h/ min=1 MAX=5 retry=0 acquire=250 ping=2 connectiontimeout=300ms ttl=7 "
        "keepalive=On enablereuse=off status=+D-I loadfactor=1.5 upgrade=ANY flushpackets=auto flushwait=20\n"
    )
    (worker,) = ProxySite(tmp_path, conf).engine.main.config(ProxyServerConfig).workers
    p = worker.parameters
    assert (p.min, p.max, p.retry, p.acquire, p.ping, p.connectiontimeout) == (1, 5, 0, 0.25, 2, 0.3)
    assert (p.ttl, p.keepalive, p.disablereuse, p.loadfactor, p.upgrade) == (7, True, True, 150, "*")
    assert (p.flushpackets, p.flushwait, p.timeout) == ("auto", 0.02, 9)
    assert p.status == WorkerStatus.DISABLED and "acquire" in p.given
