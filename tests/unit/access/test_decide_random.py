"""Random chains: the engine answers what the decision says, and the clients of counterexamples are treated as
they say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.samples import amount
from tests.support.statuses import ALLOWED, CHALLENGED, DENIED, FAILED
from tests.unit.access.generated import PASSWORDS, Chain, ask, chain, engine, prepare, users
from tests.unit.access.witness import Report, watching

from whimbrel.access.clients import ClientCredentials, ExampleClient
from whimbrel.access.decide import decide
from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.access.space import Space
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.testing.fake_runtime import FakeRuntime

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.1.5", "10.1.2.3", "10.2.0.1", "::1", "192.0.2.9")
METHODS = ("GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "FROB", "NONE")


def client(chance: random.Random) -> tuple[ExampleClient, str]:
    """A random client and the password that it sends."""
    user = chance.choice(("", "alice", "bob", "carol", "eve"))
    password = PASSWORDS.get(user, "x") if chance.random() < 0.75 else "wrong"
    given = ClientCredentials(user, password == PASSWORDS.get(user)) if user else None
    host = chance.choice((None, "localhost", "www.example.org", "example.org"))
    return ExampleClient(
        chance.choice(ADDRESSES),
        chance.choice(METHODS),
        host,
        given,
        chance.choice(((), ("flag",))),
        chance.random() < 0.2,
        over_tls=chance.random() < 0.5,
    ), password


@pytest.mark.parametrize("version", ("2.2", "2.4"))
@pytest.mark.parametrize("seed", range(amount(1, 4)))
def test_engine_and_decision_agree(
    version: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{version} {seed}")
    prepare(tmp_path)
    refused = started = broken = 0
    with watching(monkeypatch, Report()) as report:
        for _ in range(40):
            site = chain(chance, version)
            try:
                asked = engine(site, tmp_path, FakeRuntime())
            except (ConfigError, StartError):
                refused += 1
                with pytest.raises(ConfigError):
                    decide(site.layers(), DIALECTS[version], site.world(tmp_path), Space())
                continue
            started += 1
            before = report.compared
            if (
                ask(asked, *client(chance)) == 500 and report.compared == before
            ):  # the .htaccess file is wrong
                space = Space()
                assert (
                    decide(site.layers(), DIALECTS[version], site.world(tmp_path), space).when[
                        AccessVerdict.ERROR
                    ]
                    == space.true
                )
                broken += 1
                continue
            for _ in range(11):
                ask(asked, *client(chance))
    assert report.different == []
    assert not report.left_out and report.compared > started - broken > 0
    assert version == "2.2" or refused


@pytest.mark.parametrize("seed", range(amount(1, 4)))
def test_clients_of_counterexamples(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    prepare(tmp_path)
    found = 0
    for _ in range(30):
        old = chain(chance, "2.2", only=False)
        new = (
            Chain("2.4", old.texts, chain(chance, "2.4").modules)
            if chance.random() < 0.5
            else chain(chance, "2.4")
        )
        users(tmp_path, PASSWORDS, {})
        space = Space()
        try:
            decisions = [
                decide(one.layers(), DIALECTS[one.version], one.world(tmp_path), space) for one in (old, new)
            ]
        except ConfigError:
            continue
        difference = decisions[0].difference(decisions[1])
        if difference is None or difference.client.opaque_answers:
            continue
        answers = asked(old, difference, tmp_path), asked(new, difference, tmp_path)
        assert answers == (difference.before, difference.after), f"{difference} {old.texts} {new.texts}"
        found += 1
    assert found > 5


def asked(site: Chain, difference: Counterexample, root: Path) -> int:
    """The status that the engine gives the client of *difference*, for whom the password and group files are
    made."""
    given = difference.client.credentials
    names = dict.fromkeys([given.user], "right") if given is not None and given.is_known_user else {}
    users(root, names, {group: [given.user] for group in given.groups} if given is not None else {})
    status = ask(
        engine(site, root, FakeRuntime()),
        difference.client,
        "right" if given is not None and given.is_password_valid else "wrong",
    )
    return status if status in (CHALLENGED, DENIED, FAILED) else ALLOWED
