"""ProxyPassReverse and ProxyPassReverseCookie*. Expected values are those of httpd 2.4.71."""

from __future__ import annotations

import pytest

from whimbrel.modules.proxy.mod_proxy.model import ProxyBalancer, define_worker
from whimbrel.modules.proxy.mod_proxy.reverse import reverse_cookie, reverse_url
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias

BALANCER = ProxyBalancer("balancer://one", [define_worker("http://m1/foo"), define_worker("http://m2/")])


@pytest.mark.parametrize(
    ("fake", "real", "url", "expected"),
    [
        ("/a/", "http://b/c/", "http://b/c/x", "/a/x"),
        ("/a/", "http://b/c/", "HTTP://B/C/x", "/a/x"),
        ("/a/", "http://b/c/", "http://b/d", None),
        ("/a/", "/c/", "http://any/c/x", "/a/x"),
        ("/a/", "/c/", "/c/x", "/a/x"),
        ("/a", "balancer://one", "http://m1/foo/x", "/a/x"),
        ("/a", "balancer://one/", "http://m1/foo/x", "/a/x"),
        ("/", "balancer://one", "http://m1/foo/x", "/x"),
        ("/bash", "balancer://one/bar", "http://m1/foo/bar/that", "/bash/that"),
        ("/bash", "balancer://one/bar", "http://m2/bar/that", "/bash/that"),
        ("/bash", "balancer://one/bar", "http://m1/foo/other", None),
        ("/a", "balancer://unknown", "http://m1/foo/x", None),
    ],
)
def test_locations(fake: str, real: str, url: str, expected: str | None) -> None:
    assert reverse_url([ProxyAlias(fake, real)], [BALANCER], url) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a=b; path=/in/x", "a=b; path=/out"),
        ("a=b;PATH=/in", "a=b;PATH=/out"),
        ("a=b; domain=Back.example; path=/in/; secure", "a=b; domain=front.example; path=/out; secure"),
        ("a=b; path=/other", "a=b; path=/other"),
        ("path=/in", "path=/out"),
        ("a=b;path=/in; path=/in2", "a=b;path=/in; path=/out"),
        ("a=b; domain=back.example;domain=x", "a=b; domain=back.example;domain=x"),
        ("a=path=/in", "a=path=/in"),
    ],
)
def test_cookies(field: str, expected: str) -> None:
    paths, domains = [ProxyAlias("/in", "/out")], [ProxyAlias("back.example", "front.example")]
    assert reverse_cookie(paths, domains, field) == expected


def test_2_2_takes_the_first_path() -> None:
    paths = [ProxyAlias("/in", "/out")]
    assert reverse_cookie(paths, [], "path=/in/; path=/in/", is_first=True) == "path=/out; path=/in/"
