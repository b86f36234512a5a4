"""certbot --apache and pebble as its authority: it issues, redirects and renews on Debian's files."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import closing
from typing import Final

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.differential.servers import WHIMBREL
from tests.support.debian_machine import DebianMachine, missing
from tests.support.pebble import MISSING, Pebble, pebble

SITE: Final = "etc/apache2/sites-available/000-default.conf"
HOST: Final = """<VirtualHost *:80>
ServerName a.test
DocumentRoot /var/www/html
</VirtualHost>
"""
LACKING: Final = MISSING or missing("certbot")

pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING or "-")


def certbot(machine: DebianMachine, ca: Pebble, *words: str) -> str:
    """Return the output of certbot, whose files are the machine's."""
    paths = [f"--{name}-dir={machine.base}/{name}" for name in ("config", "work", "logs")]
    done = machine.run("certbot", *words, *paths, "--non-interactive", REQUESTS_CA_BUNDLE=str(ca.ca_file))
    if "apache plugin does not appear to be installed" in done.stdout:
        pytest.skip("python3-certbot-apache is not installed")
    assert done.returncode == 0, done.stdout
    return done.stdout


def redirected() -> tuple[int, str | None]:
    """Return status and Location of a request for a page over http."""
    with closing(http.client.HTTPConnection("127.0.0.1", 80, timeout=10)) as wire:
        wire.request("GET", "/page", headers={"Host": "a.test"})
        response = wire.getresponse()
        return response.status, response.headers["Location"]


def certificate(root: str) -> str:
    """Return the number of the certificate of a.test, which *root* must have signed for this name."""
    context = ssl.create_default_context(cadata=root)
    with (
        socket.create_connection(("127.0.0.1", 443), timeout=10) as wire,
        context.wrap_socket(wire, server_hostname="a.test") as stream,
    ):
        found = stream.getpeercert()
        assert found is not None
        return str(found["serialNumber"])


def test_certificate_is_issued_installed_and_renewed() -> None:
    with DebianMachine(WHIMBREL) as machine:
        (machine.base / SITE).write_text(HOST)
        (machine.base / "var/www/html/page").write_text("knot\n")
        (machine.base / "ca").mkdir()
        machine.start()
        main = machine.main_process()
        with pebble(machine.base / "ca", 80, 443, rejected=0) as ca:
            account = ("--server", ca.directory, "--agree-tos", "--email", "me@example.org")
            text = certbot(machine, ca, "run", "--apache", "--redirect", *account, "-d", "a.test")
            assert "Successfully deployed certificate for a.test" in text
            # the graceful restart that certbot asks for does not wait for the new workers
            machine.wait_for(lambda: redirected() == (301, "https://a.test/page"))
            first = certificate(ca.root())
            text = certbot(machine, ca, "renew", "--force-renewal", "--no-random-sleep-on-renew")
            assert "all renewals succeeded" in text
            machine.wait_for(lambda: certificate(ca.root()) != first)
        assert machine.main_process() == main
