"""Short forms of the measures `tls-hosts` and `vary`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.hostile import tls_hosts, vary
from tests.hostile.measure import Budget
from tests.hostile.server import APACHE, WHIMBREL, ServerProcess
from tests.hostile.tls_clients import Certificates, Client, play
from tests.hostile.tls_hosts import CIPHERS, Host, enters, site


@pytest.mark.skipif(not APACHE.is_present, reason="apache2 is not installed")
def test_no_client_enters_a_host_that_apache2_keeps_it_out_of() -> None:
    result = tls_hosts.run(Budget(120, 60))
    assert not result.failures
    assert result.figures["clients"] == 120
    assert int(result.figures["same"]) > 100


def test_no_user_gets_the_cached_response_of_another() -> None:
    result = vary.run(Budget(8, 30))
    assert not result.failures
    assert int(result.figures["urls"]) >= 4


def test_a_handshake_for_other_ciphers_forgets_the_certificate(tmp_path: Path) -> None:
    """A host without SSLVerifyClient renegotiates for its own ciphers: the certificate is gone afterwards."""
    if not APACHE.is_present:
        pytest.skip("apache2 is not installed")
    section = "SSLRequire %{SSL_CLIENT_VERIFY} eq 'SUCCESS'\n"
    first = Host("SSLVerifyClient optional\n", "1", "", "", section)
    hosts = {"a.test": first, "b.test": replace(first, verify="", ciphers=CIPHERS[4])}
    hosts |= {"c.test": replace(first, ciphers=CIPHERS[4]), "d.test": replace(first, verify="")}
    certificates = Certificates(tmp_path)
    each = site(hosts, "insecure", "", certificates.documents)
    with ServerProcess(WHIMBREL, each) as whimbrel, ServerProcess(APACHE, each) as apache:
        for names in (("b.test",), ("c.test",), ("d.test",), ("a.test", "b.test", "b.test", "a.test")):
            visitor = Client(("a.test",), names, "/in.txt", "c1", "1.2", False, False)
            ours, theirs = (
                play(server.port, visitor, certificates.context(visitor)) for server in (whimbrel, apache)
            )
            assert ours == theirs
            assert [enters(answer) for answer in ours[0]] == {
                "b.test": [False],
                "c.test": [True],
                "d.test": [True],
                "a.test": [True, False, False, True],
            }[names[0]]
