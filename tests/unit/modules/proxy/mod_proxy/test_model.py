"""Workers and balancers. Expected names and matches are those of httpd 2.4.71."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import ConfigError
from whimbrel.modules.proxy.mod_proxy.model import (
    ProxyBalancer,
    define_worker,
    find_balancer,
    find_worker,
    is_like,
    without_socket,
)


@pytest.mark.parametrize(
    ("url", "name", "port", "path"),
    [
        ("HTTP://Example.com:80/A", "http://example.com/A", 80, "/A"),
        ("http://h:81/", "http://h:81/", 81, "/"),
        ("fcgi://h", "fcgi://h", 8000, ""),
        ("ajp://h:8009", "ajp://h", 8009, ""),
        ("http://[::1]:8080/x", "http://[::1]:8080/x", 8080, "/x"),
        ("http://u:p@h/", "http://u:p@h/", 80, "/"),
    ],
)
def test_names(url: str, name: str, port: int, path: str) -> None:
    worker = define_worker(url)
    assert (worker.name, worker.port, worker.path, worker.printed) == (name, port, path, name)


def test_socket() -> None:
    worker = define_worker("http:", "/run/x.sock")
    assert (worker.printed, worker.hostname) == ("unix:/run/x.sock|http://localhost", "localhost")


def test_references_may_follow_a_port() -> None:
    worker = define_worker("http://h:81$1/x", is_match=True)
    assert (worker.name, worker.port, worker.parameters.disablereuse) == ("http://h:81$1/x", 81, True)
    assert not define_worker("http://h/x", is_match=True).parameters.disablereuse


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("h/x", "URL must be absolute!: h/x"),
        ("http:///x", "URL must be absolute!: http:///x"),
        ("http://h:port/", "Unable to parse URL: http://h:port/"),
    ],
)
def test_bad_urls(url: str, text: str) -> None:
    with pytest.raises(ConfigError) as problem:
        define_worker(url)
    assert problem.value.reason == text


@pytest.mark.parametrize(
    ("url", "real"),
    [
        ("http://h/", "http://h/"),
        ("unix:/a|http://h/x", "http://h/x"),
        ("unix:/a|http:", "http://localhost"),
        ("unix:/a|", None),
        ("unix:/a", "unix:/a"),
    ],
)
def test_urls_without_their_socket(url: str, real: str | None) -> None:
    assert without_socket(url) == real


def test_the_longest_name_wins() -> None:
    workers = [define_worker(url) for url in ("http://h/", "http://h/a", "http://h/a/b", "http://h:81/a")]
    for url, name in (
        ("http://h/a/b/c", "http://h/a/b"),
        ("http://H/a/x", "http://h/a"),
        ("http://h/A", "http://h/"),
        ("http://h:81/ab", "http://h:81/a"),
    ):
        found = find_worker(workers, url)
        assert found is not None and found.name == name
    assert find_worker(workers, "http://other/a") is None
    assert find_worker(workers, "http://h:8/a") is None
    assert find_worker(workers, "h/a") is None


def test_kinds_of_workers() -> None:
    regex, prefix = define_worker("http://h/$1/x", is_match=True), define_worker("http://h/a")
    workers = [regex, prefix]
    assert find_worker(workers, "http://h/abc/x") is regex
    assert find_worker(workers, "http://h/abc/x", matches=False) is prefix
    assert find_worker(workers, "http://h/a", prefixes=False) is None


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("http://h/ab/c", "http://h/$1/c", True),
        ("http://h/ab/c/d", "http://h/$1/c", True),
        ("http://h/ab/d", "http://h/$1/c", False),
        ("http://h/ab", "http://h/$1$2", True),
        ("http://h/$", "http://h/\\$", True),
        ("http://hx", "http://h$1/", False),
    ],
)
def test_references_stand_for_any_text(text: str, pattern: str, expected: bool) -> None:
    assert is_like(text, pattern) is expected


def test_matching_takes_linear_time() -> None:
    assert not is_like("http://h/" + "a" * 100_000, "http://h/" + "$1a" * 500 + "$1b")


def test_balancers_have_no_path() -> None:
    balancer = ProxyBalancer("balancer://one")
    assert find_balancer([balancer], "balancer://ONE/path") is balancer
    assert find_balancer([balancer], "balancer://two") is None
    assert find_balancer([balancer], "balancer:one") is None
