"""Specialized answers equal those of the general path: bytes, logs, counters, scoreboard, connection.

WHIMBREL_SPECIALIZED_SEEDS: the number of random sites; WHIMBREL_SPECIALIZED_FIRST: the first of them.
`make specialized` runs more of them (specialized_run.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.differential.cache_engines import Clock
from tests.differential.specialized_run import Differential, Send, Step, Stream, Tick, shorter, still_clock
from tests.differential.specialized_site import BASE, LIKELY, SAFE, STABLE, Change, Site
from tests.support.samples import amount, first_seed
from whimbrel.engine.specialized import rules
from whimbrel.engine.specialized.rules import NameRules
from whimbrel.modules.http import mod_mime
from whimbrel.modules.mappers import mod_alias
from whimbrel.registry.module import PathRules

SEEDS = int(os.environ.get("WHIMBREL_SPECIALIZED_SEEDS", amount(8, 30)))
FIRST = first_seed("WHIMBREL_SPECIALIZED_FIRST", SEEDS)
VERSIONS = ("2.4", "2.4", "2.4", "2.2")
OPEN = '<Directory "@">\nAllowOverride None\nOptions FollowSymLinks\nRequire all granted\n</Directory>'
LOG = 'CustomLog logs/access_log "%h %u %t \\"%r\\" %>s %b %I %O %k %X"'


@pytest.fixture(scope="module")
def clock() -> Iterator[Clock]:
    with still_clock() as clock:
        yield clock


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Differential:
    return Differential(tmp_path_factory.mktemp("specialized"), clock)


def get(*paths: str, fields: str = "", number: int = 0) -> list[Step]:
    """Return steps that request *paths*, all with the same *fields*."""
    return [
        Send(
            number, "127.0.0.1", (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode(),), False
        )
        for path in paths
    ]


def check(runner: Differential, blocks: list[str], steps: list[Step], htaccess: dict[str, str]) -> int:
    """Run a fixed site; return the number of specialized answers."""
    runner.counts.clear()
    site = Site(BASE, (OPEN, LOG, *blocks), frozenset((*STABLE, *LIKELY)), htaccess)
    found = runner.site("2.4", site, steps)
    assert found is None, found[0]
    return runner.counts["specialized"]


def test_random_sites(runner: Differential) -> None:
    runner.counts.clear()
    for seed in range(FIRST, FIRST + SEEDS):
        difference = runner.seed(seed, VERSIONS[seed % len(VERSIONS)])
        assert difference is None, str(difference)
    assert runner.counts["specialized 404"] > SEEDS
    assert runner.counts["specialized file"] > SEEDS // 20


NAMES = [f"/n{number}.txt" for number in range(6)]
NEW = [f"/new{number}" for number in range(1, 6)]
CREATED = (Change("write", "new6", "new"), Change("delete", "f1", ""), Change("rename", "dir", "moved"))


@pytest.mark.parametrize(
    ("blocks", "steps"),
    [
        ([], get(*NAMES)),
        ([], get(*NAMES, fields="Connection: close\r\n")),
        (["MaxKeepAliveRequests 4"], get(*NAMES, "/dir/x1", "/dir/x2", "/dir/x3")),
        ([], get("/f1.txt", "/f2.txt", "/f3.txt", "/f4.txt", "/f2.html", "/f3.html")),
        (['<Files "*.gif">\nRequire all denied\n</Files>'], get(*NEW, "/new6.gif", "/new7.gif")),
        (['<Location "/new3">\nHeader set X-O yes\n</Location>'], get(*NEW, "/new3/more")),
        (["Redirect /new3 http://ex.test/"], get(*NEW, "/new3/more", "/new33")),
        ([], [*get(*NEW, "/f1", "/dir/new1", "/dir/new2"), *CREATED, *get("/new6", "/f1", "/dir/new3")]),
        ([], [*get("/f2", "/f3"), Tick(70.0), *get("/f4", "/f5"), Tick(1.0), *get("/f6", "/f5")]),
    ],
)
def test_fixed_sites(runner: Differential, blocks: list[str], steps: list[Step]) -> None:
    assert check(runner, blocks, steps, {}) > 0


def test_length_of_a_head_does_not_depend_on_the_count_of_its_sample(runner: Differential) -> None:
    """The count in Keep-Alive has two digits in the response that became the template, three in the next."""
    keep = "Connection: Keep-Alive, X-A\r\n"
    steps = get("/style.css") + get("/f4.txt", fields=keep) + get("/f3.txt", fields=keep, number=1)
    assert check(runner, [], steps, {}) == 1


# mistakes in the rules about names, and a site where each gives a name the answer of another
WRONG = {
    "names": (
        (NameRules, "compiled", lambda _self, _special: lambda _path, _name: ()),
        ["Redirect /new3 http://ex.test/", '<Files "new2">\nErrorDocument 404 "two"\n</Files>'],
        get(*NEW),
    ),
    "types": ((mod_mime, "_known_extensions", lambda *_: ()), [], get("/f1.txt", "/f2.html")),
    "prefixes": (
        (mod_alias, "_path_rules", lambda _mappings: PathRules()),
        ["Redirect /new3 http://x/"],
        get(*NEW),
    ),
    "sections": (
        (rules, "_add_locations", lambda _rules, _r, root, _directory: root),
        ['<Location "/new3">\nErrorDocument 404 "three"\n</Location>'],
        get(*NEW),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_rules_are_found(runner: Differential, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake, blocks, steps = WRONG[what]
    site = Site(BASE, (OPEN, LOG, *blocks), frozenset((*STABLE, *LIKELY)), {})
    assert runner.site("2.4", site, steps) is None
    monkeypatch.setattr(*mistake)
    assert runner.site("2.4", site, steps) is not None


def test_random_sites_find_a_wrong_rule(runner: Differential, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*WRONG["names"][0])
    assert any(runner.seed(seed, "2.4", reduces=False) is not None for seed in range(40))


def test_reduction_keeps_what_fails() -> None:
    assert shorter([*range(20)], lambda items: 7 in items and 11 in items) == [7, 11]


def test_changes_stay_in_the_tree() -> None:
    assert SAFE("dir/..txt") and SAFE(".htaccess")
    assert not any(map(SAFE, ("..", "../x", "dir/../..", "a//b", "", ".", "dir/")))


@pytest.mark.parametrize("fields", ["Connection: close\r\n", "Connection: x\r\nConnection: close\r\n"])
def test_scoreboard_shows_the_last_request_of_a_connection(runner: Differential, fields: str) -> None:
    assert check(runner, [], get(*NEW, fields=fields), {}) > 0


def test_scoreboard_shows_the_request_for_which_a_file_is_sent(runner: Differential) -> None:
    site = Site(BASE, (OPEN, LOG, "SetEnv nokeepalive 1"), frozenset((*STABLE, *LIKELY)), {})
    assert runner.site("2.2", site, get("/large.html?", "/large.html", "/large.html?b")) is None


def test_error_lines_of_streams_name_the_stream_s_connection(runner: Differential) -> None:
    """apache2 writes `remote` for `client` about requests of HTTP/2."""
    start = (":method", "GET"), (":scheme", "http"), (":authority", "localhost")
    steps = [Stream(0, "127.0.0.1", (*start, (":path", path))) for path in NEW]
    denied = '<Directory "@/htdocs">\nRequire all denied\n</Directory>'
    assert check(runner, ["Protocols h2c http/1.1", denied], steps, {}) > 0


HOSTS = """<VirtualHost *:8080>\nServerName one.test\nDocumentRoot "@/htdocs"\n</VirtualHost>
<VirtualHost *:8080>\nServerName two.test\nServerPath /foo3\nDocumentRoot "@/htdocs/dir"\n</VirtualHost>"""


def test_server_path_selects_the_server(runner: Differential) -> None:
    """RFC 9112, 3.2 does not require Host of HTTP/1.0; manual: core.html, ServerPath."""
    paths = ("/foo1", "/foo2", "/foo3", "/foo33", "/foo3/f1", "/f1")
    heads = [f"GET {path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode() for path in paths]
    steps: list[Step] = [Send(0, "127.0.0.1", (head,), False) for head in heads]
    assert check(runner, [HOSTS], steps, {}) > 0
    assert check(runner, ["ServerPath /foo3"], get(*paths, "/f2", "/foo3/f2"), {}) > 0


def test_log_conditions_that_log_errors_are_evaluated_once(runner: Differential) -> None:
    site = Site(
        BASE,
        (
            OPEN.replace("AllowOverride None", "AllowOverride FileInfo"),
            'CustomLog logs/two "%r" "expr=-U \'/dir/a.txt\'"',
        ),
        frozenset((*STABLE, *LIKELY)),
        {"dir/": "Require all denied\n"},
    )
    assert runner.site("2.4", site, get("/f1", "/f1", "/new1", "/new2")) is None


def test_log_condition_that_cannot_be_evaluated(runner: Differential) -> None:
    """httpd logs AH00644, and no line to that log."""
    block = "CustomLog logs/two \"%r\" \"expr=file('/none/x') == ''\""
    site = Site(BASE, (OPEN, block), frozenset((*STABLE, *LIKELY)), {})
    assert runner.site("2.4", site, get("/f1", "/f1", "/new1", "/new2")) is None


def test_streams_whose_window_is_full_store_no_part_of_a_body(runner: Differential) -> None:
    fields = ((":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/l64c.txt"))
    steps: list[Step] = [Stream(0, "127.0.0.1", fields), Tick(0.0)]
    site = Site(BASE, (OPEN, "Protocols h2c http/1.1"), frozenset(STABLE), {})
    assert runner.site("2.4", site, steps * 4) is None
