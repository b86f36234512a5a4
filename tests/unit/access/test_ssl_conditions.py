"""Conditions of mod_ssl beside Satisfy: the answers that apache2 2.4.71 gave to the same lines, on a port of
TLS and on one without, to no user, a user with the right password, and one with a wrong password."""

from __future__ import annotations

import pytest
from tests.unit.access.decisions import AREA, MODULES, answer, decision_of, world

from whimbrel.access.atoms import Opaque, OverTls
from whimbrel.access.decision import AccessDecision
from whimbrel.access.layers import is_access_line

REFUSED_OF_ALL = "Order deny,allow\nDeny from all\nSatisfy Any\n"
STRICT = f"SSLRequireSSL\nSSLOptions +StrictRequire\nRequire valid-user\n{REFUSED_OF_ALL}"
UNMET = 'SSLRequire %{HTTP_HOST} eq "no"\n'

RECORDED = [
    # the lines, the statuses without TLS, those over TLS
    (f"SSLRequireSSL\nRequire valid-user\n{REFUSED_OF_ALL}", (401, 200, 401), (401, 200, 401)),
    ("SSLRequireSSL\nRequire valid-user\nRequire ip 192.0.2.1\n", (403, 403, 403), (200, 200, 200)),
    (
        "SSLRequireSSL\nSSLOptions +StrictRequire\nRequire valid-user\nSatisfy Any\n",
        (403, 403, 403),
        (200, 200, 200),
    ),
    (
        "SSLRequireSSL\nSSLOptions +StrictRequire\nRequire valid-user\nRequire ip 192.0.2.1\nSatisfy Any\n",
        (200, 200, 200),
        (200, 200, 200),
    ),
    (
        f"{UNMET}Require valid-user\nOrder allow,deny\nAllow from all\nSatisfy Any\n",
        (200, 200, 200),
        (401, 200, 401),
    ),
    (
        f"{UNMET}SSLOptions +StrictRequire\nRequire valid-user\nSatisfy Any\n",
        (200, 200, 200),
        (403, 403, 403),
    ),
]


def decision(version: str, *texts: str) -> AccessDecision:
    return decision_of(version, *texts, world_=world(version, (*MODULES[version], "ssl")))


def ssl_first(version: str, *texts: str) -> AccessDecision:
    return decision_of(version, *texts, world_=world(version, ("ssl", *MODULES[version])))


def statuses(found: AccessDecision, *, tls: bool) -> tuple[int, ...]:
    return tuple(
        answer(found, user=user, right=right, tls=tls)
        for user, right in (("", True), ("anna", True), ("anna", False))
    )


@pytest.mark.parametrize(("lines", "plain", "over_tls"), RECORDED)
def test_answers_of_24(lines: str, plain: tuple[int, ...], over_tls: tuple[int, ...]) -> None:
    found = decision("2.4", AREA + lines)
    assert statuses(found, tls=False) == plain
    assert statuses(found, tls=True) == over_tls


@pytest.mark.parametrize(("lines", "plain", "over_tls"), [one for one in RECORDED if " ip " not in one[0]])
def test_22_joins_the_conditions_by_satisfy_alike(
    lines: str, plain: tuple[int, ...], over_tls: tuple[int, ...]
) -> None:
    # ap_process_request_internal of 2.2: with Satisfy Any, a user is asked for where access checkers refuse
    found = decision("2.2", AREA + lines)
    assert statuses(found, tls=False) == plain
    assert statuses(found, tls=True) == over_tls


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_an_inner_section_resets_the_option(version: str) -> None:
    outer = f"{AREA}{STRICT}"
    for inner in ("SSLOptions -StrictRequire\n", "SSLOptions StdEnvVars\n"):
        assert answer(ssl_first(version, outer, inner), user="anna") == 200
    assert answer(ssl_first(version, outer, "SSLOptions +StdEnvVars\n"), user="anna") == 403


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_the_first_access_checker_that_refuses_ends_the_phase(version: str) -> None:
    # apache2 2.4.71 answers 403 to every user with mod_ssl loaded before mod_access_compat; after it 401, and
    # 200 to a user: mod_ssl was not asked. 2.2 runs the phase alike (RUN_ALL), with mod_authz_host
    assert statuses(ssl_first(version, f"{AREA}{STRICT}"), tls=False) == (403, 403, 403)
    assert statuses(decision(version, f"{AREA}{STRICT}"), tls=False) == (401, 200, 401)
    admitted = f"{AREA}{STRICT}Allow from all\n"
    assert statuses(decision(version, admitted), tls=False) == (403, 403, 403)


def test_the_client_of_a_difference_has_a_connection() -> None:
    both = f"{AREA}SSLRequireSSL\nRequire valid-user\n"
    old = decision("2.2", f"{both}{REFUSED_OF_ALL}")
    new = decision_of("2.4", both, space=old.space, world_=world("2.4", (*MODULES["2.4"], "ssl")))
    example = old.difference(new)
    assert example is not None and example.client.over_tls is False
    assert "over plain HTTP" in str(example)


def test_require_ssl_asks_for_the_same_fact() -> None:
    found = decision("2.4", "Require ssl\n")
    assert found.atoms() == [OverTls()]
    assert [answer(found, tls=tls) for tls in (False, True)] == [403, 200]


def test_a_condition_is_an_atom_in_the_words_of_either_version() -> None:
    # the language of 2.2, which 2.4 does not compile, is no error of the section
    old_words = "SSLRequire %{SSL_CIPHER_USEKEYSIZE} >= 128  and %{NO_SUCH} in {1, 2}\n"
    for version in ("2.2", "2.4"):
        atoms = decision(version, old_words).atoms()
        assert Opaque("sslrequire %{SSL_CIPHER_USEKEYSIZE} >= 128 and %{NO_SUCH} in {1, 2}") in atoms


@pytest.mark.parametrize(
    ("args", "is_about_access"),
    [("+StrictRequire", True), ("-strictrequire", True), ("StdEnvVars", True), ("+StdEnvVars", False)],
)
def test_options_about_access(args: str, is_about_access: bool) -> None:
    assert is_access_line("SSLOptions", args) is is_about_access
