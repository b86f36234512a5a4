"""URLs and log lines as probes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.explain.request_description import (
    BadRequest,
    RequestDescription,
    probe_of,
)


def test_urls() -> None:
    probe = probe_of(RequestDescription("https://a.example:8443/x?y=1#z"), None)
    assert (probe.target, probe.host, probe.port) == ("/x?y=1", "a.example:8443", 8443)
    assert probe.tls is not None and probe.tls.server_name == "a.example"
    assert probe_of(RequestDescription("http://a.example"), None).target == "/"
    assert probe_of(RequestDescription("/x", host="b.example"), None).host == "b.example"
    for bad in ("ftp://a/", "http://a:port/", "/a b"):
        with pytest.raises(BadRequest):
            probe_of(RequestDescription(bad), None)


def test_users() -> None:
    named = probe_of(RequestDescription("/", user="alice"), None)
    assert named.user is not None and named.user.is_assumed
    # Basic of alice:wonder (RFC 7617)
    assert probe_of(RequestDescription("/", user="alice:wonder"), None).fields == (
        ("Authorization", "Basic YWxpY2U6d29uZGVy"),
    )


def test_the_address_and_the_port_come_from_the_configuration(tmp_path: Path) -> None:
    conf = CONF.replace("Listen 80", "Listen 8080") + (
        "<VirtualHost 10.0.0.5:8080>\nServerName b.example\n</VirtualHost>\n"
    )
    configuration = side_of(tmp_path, conf).configuration
    probe = probe_of(RequestDescription("/", host="b.example"), configuration)
    assert (probe.address, probe.port) == ("10.0.0.5", 8080)
    assert probe_of(RequestDescription("/"), configuration).port == 8080


ON_8080 = "<VirtualHost *:8080>\nServerName b.example\n</VirtualHost>"


@pytest.mark.parametrize(
    ("listen", "url", "port", "shown"),
    [
        ("Listen 8080", "http://b.example/", 8080, "GET http://b.example:8080/, Host: b.example"),
        ("Listen 8080", "http://b.example:8080/", 8080, "GET http://b.example:8080/"),
        ("Listen 80\nListen 8080", "http://b.example/", 80, "GET http://b.example/"),
        (f"Listen 80\nListen 8080\n{ON_8080}", "http://b.example/", 80, "GET http://b.example/"),
        (
            f"Listen 8080\nListen 8081\n{ON_8080}",
            "http://b.example/",
            8080,
            "GET http://b.example:8080/, Host: b.example",
        ),
        ("Listen 8080", "http://b.example:81/", 81, "GET http://b.example:81/"),
        ("Listen 80", "http://[::1]/", 80, "GET http://[::1]/"),
    ],
)
def test_a_url_without_port_goes_where_the_server_listens(
    tmp_path: Path, listen: str, url: str, port: int, shown: str
) -> None:
    configuration = side_of(tmp_path, CONF.replace("Listen 80", listen)).configuration
    probe = probe_of(RequestDescription(url), configuration)
    assert (probe.port, probe.request_text) == (port, shown)


@pytest.mark.parametrize(
    ("described", "host", "answered"),
    [
        (
            RequestDescription("http://b.example/x"),
            "b.example",
            "GET http://b.example:8080/x from 192.0.2.1, Host: b.example",
        ),
        (
            RequestDescription("http://b.example:8080/x"),
            "b.example:8080",
            "GET http://b.example:8080/x from 192.0.2.1",
        ),
        (
            RequestDescription("/x", host="b.example"),
            "b.example",
            "GET http://b.example:8080/x from 192.0.2.1, Host: b.example",
        ),
        (
            RequestDescription("http://b.example/x", host="b.example"),
            "b.example",
            "GET http://b.example:8080/x from 192.0.2.1, Host: b.example",
        ),
        (RequestDescription("/x"), "localhost:8080", "GET http://localhost:8080/x from 192.0.2.1"),
    ],
)
def test_the_request_that_is_shown_is_the_one_that_is_answered(
    tmp_path: Path, described: RequestDescription, host: str, answered: str
) -> None:
    """A client sends the port of its URL in Host, if it names one that is not its scheme's (RFC 9110, section
    7.2); where the server listens is no part of that. The request that is shown, asked again, is the same.
    """
    configuration = side_of(tmp_path, CONF.replace("Listen 80", "Listen 8080")).configuration
    probe = probe_of(described, configuration)
    assert (probe.host, str(probe)) == (host, answered)
    assert probe_of(RequestDescription(probe.url, host=probe.other_host), configuration) == probe


def test_a_client_leaves_out_the_port_of_the_scheme() -> None:
    """RFC 9110, section 4.2.3: an URL with the default port is the one without it."""
    assert probe_of(RequestDescription("http://b.example:80/x"), None).host == "b.example"
    assert probe_of(RequestDescription("https://b.example:80/x"), None).host == "b.example:80"
