"""mod_md beside apache2: each program has a pebble of its own; store, status, log, requests to the authority.

Numbers of polls depend on the moment of the first one; apache2 reads an order once more than needed.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.differential.managed_pair import Authorities, ManagedProcess, managed, normal
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.support.pebble import MISSING
from tests.support.samples import some

pytestmark = pytest.mark.skipif(bool(MISSING) or not APACHE.present, reason=MISSING or "apache2 is missing")

HOST = (("a.test",),)
POLLS = ("POST /authZ", "POST /my-order")
AGAIN = ("GET /dir",)  # a restarted server may have begun its first check already
MAC_KEY = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"
LEVELS = ("emerg", "error", "warn", "notice")
Play = Callable[[ManagedProcess], Any]


@pytest.fixture(scope="module")
def authorities() -> Iterator[Authorities]:
    with Authorities() as found:
        yield found


def both(authorities: Authorities, play: Play, **settings: Any) -> list[tuple[Any, ManagedProcess]]:
    """Return what *play* returns for apache2 and for Whimbrel, side by side."""
    found: dict[Program, tuple[Any, ManagedProcess]] = {}
    problems: list[BaseException] = []

    def run(program: Program) -> None:
        try:
            with managed(program, authorities, **settings) as process:
                found[program] = play(process), process
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(program,)) for program in (APACHE, WHIMBREL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return [found[APACHE], found[WHIMBREL]]


def check_same(authorities: Authorities, play: Play, **settings: Any) -> Any:
    """Return what *play* returns for both programs."""
    (apache, _), (whimbrel, _) = both(authorities, play, **settings)
    assert whimbrel == apache
    return whimbrel


def requests(process: ManagedProcess) -> dict[str, int]:
    counts = process.requests()
    return {name: count for name, count in sorted(counts.items()) if name not in (*POLLS, *AGAIN)}


def codes(process: ManagedProcess) -> Counter[str]:
    """Return the codes of mod_md above info."""
    known = process.codes()
    return Counter({name: count for name, count in known.items() if name.split()[0] in LEVELS})


def renewed(process: ManagedProcess, times: int = 1) -> None:
    process.wait_for(lambda: process.log().count("AH10059") >= times)


def slow_retries(process: ManagedProcess) -> None:
    """Let a failed renewal wait for an hour."""
    lines = (process.run / "site.conf").read_text().replace("MDRetryDelay 1s", "MDRetryDelay 1h")
    (process.run / "site.conf").write_text(lines)


def failed(process: ManagedProcess, times: int = 1) -> dict[str, Any]:
    """Wait for failures; return the renewal in md-status, without what follows from random delays."""

    def has_failed() -> bool:
        try:
            job = process.load("staging/a.test/job.json")
        except (OSError, ValueError):
            return False
        entries = job.get("log", {}).get("entries", ())
        logged = sum(entry["type"] == "renewal-error" for entry in entries)
        # the loop of the worker writes the log, the thread of the renewal writes the job
        return int(job.get("errors", 0)) >= times and process.log().count("AH10056") >= logged

    process.wait_for(has_failed)
    status = process.status("/md-status/a.test")
    offered = re.compile(r"[\w-]+-01 [\w-]+-01 [\w-]+-01")  # in an order that changes from run to run
    status = json.loads(offered.sub("KINDS", json.dumps(status)))
    entries = {  # each once: the number of polls differs
        tuple(entry.get(key, "") for key in ("type", "status", "detail"))
        for entry in status["renewal"].pop("log")["entries"]
    }
    return {**status, "entries": sorted(entries)}


def modes(process: ManagedProcess, *groups: str) -> dict[str, str]:
    return {path: mode for path, mode in process.store().items() if path.startswith(groups)}


def test_one_account_serves_all_domains(authorities: Authorities) -> None:
    def play(process: ManagedProcess) -> Any:
        text = "MDomain a.test\n<MDomainSet b.test>\nMDContactEmail other@example.org\n</MDomainSet>\n"
        process.configure(text, ("a.test",), ("b.test", "www.b.test"))
        process.start()
        renewed(process, 2)
        before = process.status()
        process.restart()
        after = process.status()
        for record in (before, after):
            for each in record["managed-domains"]:
                each.pop("renewal", None)
                json.dumps(each.pop("cert"))
        account = next((process.run / "md/accounts").iterdir()).name.partition("-")[0]
        store = modes(process, "accounts/", "domains/")
        return before, after, requests(process), codes(process), account, store

    found = check_same(authorities, play)
    assert found[2]["POST /sign-me-up"] == 1 and found[2]["POST /my-account"] == 1
    assert found[1]["managed-domains"][0]["ca"]["account"] == found[1]["managed-domains"][1]["ca"]["account"]
    if os.getuid() == 0:
        assert {mode for path, mode in found[5].items() if path.endswith("account.json")} == {"-rw-r--r-- 0"}


def test_polls_are_not_more_than_those_of_apache2(authorities: Authorities) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure("MDomain a.test\nMDCAChallenges http-01\n", *HOST)
        process.start()
        renewed(process)
        return process.requests()

    (apache, _), (whimbrel, _) = both(authorities, play)
    assert whimbrel["POST /my-order"] <= apache["POST /my-order"] + 1
    assert whimbrel["POST /authZ"] <= apache["POST /authZ"] + 2


@pytest.mark.parametrize(
    ("text", "settings"),
    some(
        [
            pytest.param("MDNotifyCmd /nowhere\n", {}, id="command"),
            pytest.param("MDNotifyCmd /bin/false\n", {}, id="notify"),
            pytest.param("MDHttpProxy http://localhost:1\n", {}, id="proxy"),
            pytest.param("MDPortMap http:99 https:99\n", {}, id="ports"),
            pytest.param("MDCAChallenges dns-01\nMDChallengeDns01 /bin/false\n", {}, id="dns"),
            pytest.param("MDProfile unknown\nMDProfileMandatory on\n", {}, id="profile"),
            pytest.param("", {"httpPort": 1, "tlsPort": 1}, id="challenge"),
        ],
        3,
    ),
)
def test_failures(authorities: Authorities, text: str, settings: dict[str, Any]) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure(f"MDomain a.test\n{text}", *HOST)
        slow_retries(process)
        process.start()
        return failed(process), requests(process), codes(process)

    check_same(authorities, play, **settings)


def test_a_message_command_that_fails_prevents_renewals(authorities: Authorities) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure("MDomain a.test\nMDMessageCmd /bin/false\n", *HOST)
        process.start()
        process.wait_for(lambda: "AH10060" in process.log())
        process.wait_for(lambda: "renewal" in process.status("/md-status/a.test"))
        return process.status("/md-status/a.test"), requests(process), codes(process)

    found = check_same(authorities, play)
    assert found[0]["renewal"]["last"]["problem"] == "urn:org:apache:httpd:log:AH10109:"


def test_a_failed_notification_is_repeated_after_a_pause(authorities: Authorities) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure("MDomain a.test\nMDNotifyCmd /bin/false\n", *HOST)
        process.start()
        process.wait_for(lambda: process.log().count("problem[urn:org:apache:httpd:log:AH10108:]") >= 3)
        lines = [line for line in process.log().splitlines() if "AH10108" in line]
        seconds = [float(line.split()[3].rpartition(":")[2]) for line in lines[:3]]
        return [round((later - first) % 60) for first, later in zip(seconds, seconds[1:], strict=False)]

    assert check_same(authorities, play) == [1, 1]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("MDMembers manual\nMDomain a.test\n", (("a.test", "other.test"),)),
        ("MDMatchNames servernames\nMDomain *.a.test\nMDomain b.a.test\n", (("b.a.test",), ("c.a.test",))),
        ("MDomain *.a.test\nMDomain b.a.test\n", (("c.a.test",),)),
        ("MDomain a.test *.a.test\n", (("a.test", "*.a.test"),)),
        ("MDomain a.test\nMDomain b.test a.test\n", ()),
        ("MDHttpProxy https://127.0.0.1:-443\n", ()),
        ("MDHttpProxy localhost:8080\n", ()),
        ("MDHttpProxy http://h:0\n", ()),
    ],
)
def test_starts(authorities: Authorities, text: str, hosts: tuple[tuple[str, ...], ...]) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure(f"MDRenewMode manual\n{text}", *hosts)
        process.start()
        if process.process.started:
            return process.status(), set(codes(process))
        return process.process.output.replace(str(process.run), "RUN"), set(codes(process))

    check_same(authorities, play, has_authority=False)


def test_damaged_staging_is_obtained_again(authorities: Authorities) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure("MDomain a.test\n", *HOST)
        process.start()
        renewed(process)
        (process.run / "md/staging/a.test/md.json").write_text("garbage\n")
        process.restart()
        renewed(process, 2)
        return requests(process), codes(process)

    check_same(authorities, play)


@pytest.mark.parametrize(
    ("binding", "certificates"),
    some(
        [
            pytest.param("kid-1 {key}", 1, id="line"),
            pytest.param("{run}/eab.json", 1, id="file"),
            pytest.param("", 0, id="none"),
            pytest.param("kid-2 {key}", 0, id="unknown"),
            pytest.param("kid-1 d3Jvbmc", 0, id="wrong"),
        ],
        2,
    ),
)
def test_external_account_bindings(authorities: Authorities, binding: str, certificates: int) -> None:
    def play(process: ManagedProcess) -> Any:
        (process.run / "eab.json").write_text(json.dumps({"kid": "kid-1", "hmac": MAC_KEY}))
        (process.run / "eab.json").chmod(0o644)
        words = binding.replace("{key}", MAC_KEY)
        process.configure(f"MDExternalAccountBinding {words}\n" * bool(words) + "MDomain a.test\n", *HOST)
        slow_retries(process)
        process.start()
        if not certificates:
            return failed(process), requests(process), codes(process)
        renewed(process)
        status = process.status("/md-status/a.test")
        stored = normal(process.load("staging/a.test/md.json"), process)
        accounts = modes(process, "accounts/")
        return status["eab"], status["ca"], stored, requests(process), codes(process), accounts

    bound = {"externalAccountBindingRequired": True, "externalAccountMACKeys": {"kid-1": MAC_KEY}}
    check_same(authorities, play, **bound)


@pytest.mark.parametrize("setting", some(["on", "off"], 1))
def test_an_authority_without_renewal_information_is_asked_alike(
    authorities: Authorities, setting: str
) -> None:
    def play(process: ManagedProcess) -> Any:
        process.configure(f"MDCheckInterval 1s\nMDRenewViaARI {setting}\nMDomain a.test\n", *HOST)
        process.start()
        renewed(process)
        process.restart()
        before = process.requests()
        begun = process.log().count("AH10055")
        process.wait_for(lambda: process.log().count("AH10055") >= begun + 3)
        asked = {"AH10513", "AH10514"} & {name.split()[1] for name in process.codes()}
        more = set(process.requests() - before)
        return process.status("/md-status/a.test"), asked, more, codes(process)

    assert check_same(authorities, play)[2] == ({"GET /dir"} if setting == "on" else set())
