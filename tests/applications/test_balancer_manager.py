"""The balancer-manager in Chromium: all workers see changes at once; forms of other sites change nothing."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.origin import Origin
from tests.support.webdriver import CHROMIUM, DRIVER, Chromium

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy"),
    pytest.mark.skipif(
        DRIVER is None or CHROMIUM is None, reason="chromium with chromedriver is not installed"
    ),
]
CONF = """
<Proxy balancer://waders>
  BalancerMember http://127.0.0.1:{a}
  BalancerMember http://127.0.0.1:{b}
  ProxySet growth=1
</Proxy>
ProxyPass /app/ balancer://waders/
<Location /manager>
  SetHandler balancer-manager
  Require local
</Location>
LogFormat "%P" pid
GlobalLog {base}/pids.log pid
StartServers 2
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
"""
MOST = 1000  # requests after which the second worker must have answered one
MODULES = [
    "proxy",
    "proxy_http",
    "proxy_balancer",
    "slotmem_shm",
    "lbmethod_byrequests",
    "lbmethod_bytraffic",
]


class Site:
    """A server in front of two origins, and a browser."""

    def __init__(self, server: StockServer, browser: Chromium, a: Origin, b: Origin) -> None:
        self.server, self.browser, self.a, self.b = server, browser, a, b
        self.url = f"http://localhost:{server.port}"
        self.pids = server.base / "pids.log"

    def answers(self, count: int) -> dict[str, float]:
        """Return how many of *count* requests each member answered: the mean of as many groups of so many as
        it takes until both workers have taken part.
        """
        before = len(self.pids.read_text())
        names = Counter[str]()
        while not names or names.total() % count or (len(self._workers(before)) < 2 and names.total() < MOST):
            with urllib.request.urlopen(f"{self.url}/app/x", timeout=10) as response:
                names[response.read().split()[0].decode()] += 1
        assert len(self._workers(before)) == 2
        return {name: number * count / names.total() for name, number in names.items()}

    def _workers(self, before: int) -> set[str]:
        return set(self.pids.read_text()[before:].split())

    def edit(self, member: Origin) -> None:
        """Open the form of *member*."""
        self.browser.open(f"{self.url}/manager")
        self.browser.follow(f"//a[text()='http://127.0.0.1:{member.port}']")

    def submit(self) -> str:
        """Send the form; return the text of the page that follows."""
        self.browser.follow("//input[@type='submit']")
        return self.browser.text()

    def row(self, member: Origin) -> str:
        """Return the row of *member* on the page."""
        return self.browser.text(f"//tr[td/a[text()='http://127.0.0.1:{member.port}']]")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as name:
        with Chromium(Path(name)) as browser:
            yield browser


@pytest.fixture(scope="module", params=[APACHE, WHIMBREL], ids=lambda program: program.name)
def site(request: pytest.FixtureRequest, browser: Chromium) -> Iterator[Site]:
    with (
        TemporaryDirectory(prefix="manager-") as name,
        Origin(b"a") as a,
        Origin(b"b") as b,
    ):
        base = Path(name)
        write_documents(base)
        conf = CONF.format(a=a.port, b=b.port, base=base)
        with StockServer(request.param, base, conf, modules=MODULES) as server:
            assert server.started, server.output
            yield Site(server, browser, a, b)


def test_a_member_is_drained(site: Site) -> None:
    assert site.answers(40) == {"a": 20, "b": 20}
    site.edit(site.b)
    site.browser.click("//input[@id='w_status_N1']")
    site.submit()
    assert "Drn" in site.row(site.b)
    assert site.answers(40) == {"a": 40}
    site.edit(site.b)
    site.browser.click("//input[@id='w_status_N0']")
    site.submit()
    assert "Drn" not in site.row(site.b)
    assert site.answers(40)["b"] > 10


def test_a_factor_is_changed(site: Site) -> None:
    site.edit(site.a)
    assert site.browser.value("//input[@id='w_lf']") == "1.00"
    site.browser.write("//input[@id='w_lf']", "3")
    site.submit()
    assert "3.00" in site.row(site.a)
    assert site.answers(40) == {"a": 30, "b": 10}
    site.edit(site.a)
    site.browser.write("//input[@id='w_lf']", "1")
    site.submit()
    assert "1.00" in site.row(site.a)


def test_method_and_new_member(site: Site) -> None:
    with Origin(b"c") as c:
        site.browser.open(f"{site.url}/manager")
        site.browser.follow("//a[text()='balancer://waders']")
        site.browser.click("//select[@id='b_lbm']/option[@value='bytraffic']")
        site.browser.write("//input[@id='b_nwrkr']", f"http://127.0.0.1:{c.port}")
        site.browser.click("//input[@id='b_wyes']")
        assert "bytraffic" in site.submit()
        assert "Dis" in site.row(c)
        site.edit(c)
        site.browser.click("//input[@id='w_status_D0']")
        site.submit()
        assert set(site.answers(60)) == {"a", "b", "c"}
        site.edit(c)
        site.browser.click("//input[@id='w_status_D1']")
        site.submit()


@pytest.mark.parametrize("referrer", ["unsafe-url", "no-referrer"])
def test_a_form_of_another_site_changes_nothing(site: Site, referrer: str) -> None:
    site.browser.open(f"{site.url}/manager")
    with urllib.request.urlopen(f"{site.url}/manager", timeout=10) as response:
        nonce = re.search(r"nonce=([-0-9a-f]+)", response.read().decode("latin-1"))
    assert nonce is not None
    fields = {"w": f"http://127.0.0.1:{site.b.port}", "b": "waders", "nonce": nonce[1], "w_status_D": "1"}
    inputs = "".join(f"<input name={name} value='{value}'>" for name, value in fields.items())
    page = (
        f"<meta name=referrer content={referrer}><form method=POST action={site.url}/manager>"
        f"{inputs}<input type=submit></form>"
    )

    class Attacker(BaseHTTPRequestHandler):
        """Serves the page."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_words: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Attacker) as attacker:
        threading.Thread(target=attacker.serve_forever, daemon=True).start()
        site.browser.open(f"http://127.0.0.1:{attacker.server_port}/")
        assert "Load Balancer Manager" in site.submit()
        attacker.shutdown()
    assert "Dis" not in site.row(site.b)
    assert "AH10187" in (site.server.run / "error.log").read_text("latin-1")
    assert site.answers(40)["b"] > 0
