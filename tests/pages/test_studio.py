"""The studio in Chromium: keys, edits, upgrade, write; markup is never run; axe-core finds no fault."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.studio import StudioServer
from tests.support.webdriver import CHROMIUM, DRIVER, Chromium
from tests.unit.studio.studio_site import MARKUP, write_site

AXE = os.environ.get("WHIMBREL_AXE", "")
SHOTS = os.environ.get("WHIMBREL_ARTEFACTS", "")
needs_browser = pytest.mark.skipif(
    DRIVER is None or CHROMIUM is None, reason="needs chromium and chromedriver"
)
HOST = "conf/hosts/0001.conf"
URL = "http://h1.example.org/closed/"
SECONDS = 30.0
PAUSE = 0.05
"""Seconds between two looks: the browser and the server work meanwhile."""


class Page:
    """The studio of one site, open in a browser."""

    def __init__(self, browser: Chromium, root: Path, server: StudioServer) -> None:
        self.browser = browser
        self.root = root
        self.server = server

    def wait(self, script: str, *arguments: object) -> Any:
        """Wait until an expression of the page is true, and return its value."""
        end = time.monotonic() + SECONDS
        while not (found := self.browser.script(f"return {script}", *arguments)) and time.monotonic() < end:
            time.sleep(PAUSE)
        notice = "return document.querySelector('#notice').textContent"
        assert found, (script, arguments, self.browser.script(notice), self.browser.text()[:3000])
        return found

    def wait_text(self, selector: str, text: str) -> None:
        """Wait until an element has a text."""
        self.wait(
            "[...document.querySelectorAll(arguments[0])]"
            ".some((one) => one.textContent.includes(arguments[1]))",
            selector,
            text,
        )

    def ask(self, url: str) -> None:
        """Write a URL into the form, as typed."""
        self.browser.script("document.activeElement.blur()")
        self.browser.press("/")
        self.browser.write("//input[@id='url']", url)

    def open_line(self, file: str, line: int) -> None:
        """Open a file at a line, by the tree of files and keys."""
        self.browser.click(f"//li[@data-file='{file}']/span")
        self.wait_text("#file-name", file)
        self.browser.click(f"//div[@id='line-{line}']")

    def type_line(self, text: str) -> None:
        """Replace the text of the current line, by `e`."""
        self.browser.script("document.activeElement.blur()")
        self.browser.press("e")
        self.wait("document.querySelector('textarea.edit') !== null")
        self.browser.script("document.querySelector('textarea.edit').select()")
        self.browser.devtools("Input.insertText", text=text)

    def shot(self, name: str) -> None:
        """Keep a picture where WHIMBREL_ARTEFACTS names a directory."""
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            (Path(SHOTS) / f"studio-{name}.png").write_bytes(self.browser.screenshot())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as chromium:
        yield chromium


@pytest.fixture
def studio(browser: Chromium, tmp_path: Path) -> Iterator[Callable[[], Page]]:
    """Return a function that opens the studio of the site in tmp_path."""
    servers: list[StudioServer] = []

    def open_studio() -> Page:
        server = StudioServer(tmp_path)
        servers.append(server.__enter__())
        browser.resize(1600, 1000)
        browser.prefer_scheme("light")
        browser.open(server.url)
        page = Page(browser, tmp_path, server)
        page.wait("document.querySelectorAll('#findings .entries li, #findings .badge').length")
        return page

    yield open_studio
    for server in servers:
        server.__exit__()


@needs_browser
def test_the_page_shows_files_findings_and_the_cause(studio: Callable[[], Page], tmp_path: Path) -> None:
    write_site(tmp_path)
    page = studio()
    assert page.browser.script("return location.href").endswith("/"), "the key is not left in the address"
    page.ask(URL)
    page.wait_text("#verdict .badge", "403 Forbidden")
    page.wait_text("#verdict code", "Deny from all")
    page.wait_text("#findings .entries", "order-allow-deny")
    page.shot("wide-light")
    page.browser.prefer_scheme("dark")
    page.shot("wide-dark")


@needs_browser
def test_arrows_walk_the_steps_and_light_their_lines(studio: Callable[[], Page], tmp_path: Path) -> None:
    write_site(tmp_path)
    page = studio()
    page.ask(URL)
    page.wait_text("#verdict .badge", "403 Forbidden")
    page.browser.press("Escape")
    names = []
    lit = []
    for _ in range(30):
        page.browser.press("ArrowDown")
        names.append(page.browser.script("return document.activeElement.dataset.step || ''"))
        # The file of a step's lines is fetched after the key.
        end = time.monotonic() + (2 if names[-1].startswith("access") else 0)
        while not any("Deny from all" in line for line in lit):
            lit += page.browser.script(
                "return [...document.querySelectorAll('#lines .code.step')].map((one) => one.textContent)"
            )
            if time.monotonic() > end:
                break
            time.sleep(PAUSE)
    assert any(name.startswith("access") for name in names) and len(set(names)) > 5
    assert any("Deny from all" in line for line in lit)


@needs_browser
def test_a_pasted_log_line_fills_the_form(studio: Callable[[], Page], tmp_path: Path) -> None:
    write_site(tmp_path)
    page = studio()
    denied = f"client denied: {tmp_path}/htdocs/closed/x"
    for line, client in (
        ('10.2.3.4 - bob [10/Oct/2000:13:55:36 -0700] "GET /closed/x HTTP/1.0" 200 2326', "10.2.3.4"),
        (f"[Wed Oct 11 14:32:52 2000] [error] [client 10.0.0.9] {denied}", "10.0.0.9"),
    ):
        page.ask(line)
        page.wait(f"document.querySelector('input[name=client]').value === '{client}'")
        assert page.browser.value("//input[@id='url']") == "/closed/x"
        page.wait("document.querySelector('#verdict .badge')")


@needs_browser
def test_each_keystroke_changes_the_answer_and_no_file(studio: Callable[[], Page], tmp_path: Path) -> None:
    write_site(tmp_path)
    before = (tmp_path / HOST).read_bytes()
    page = studio()
    page.ask(URL)
    page.wait_text("#verdict .badge", "403 Forbidden")
    page.open_line(HOST, 7)
    page.type_line("        Allow from 192.0.2.0/24")
    page.wait_text("#verdict .badge", "404 Not Found")
    page.browser.script("document.querySelector('textarea.edit').select()")
    page.browser.devtools("Input.insertText", text="        Allow from 192.0.2.0/99")
    page.wait_text("#verdict .note.error", "does not load")
    page.wait_text("#lines .note.error", "network")
    page.wait_text("#verdict .verdict.old", "of the last text that loaded")
    page.wait_text("#verdict .verdict.old", "404 Not Found")
    page.browser.press("Enter")
    page.wait("!document.querySelector('textarea.edit')")
    page.wait_text("#edits", "1 file edited")
    page.browser.click("//button[@id='undo']")
    page.wait_text("#edits", "no edits")
    page.wait_text("#verdict .badge", "403 Forbidden")
    assert (tmp_path / HOST).read_bytes() == before


@needs_browser
def test_an_upgrade_is_applied_verified_compared_and_written(
    studio: Callable[[], Page], tmp_path: Path
) -> None:
    main = write_site(tmp_path)
    old = main.read_bytes()
    page = studio()
    page.ask(URL)
    page.wait_text("#verdict .badge", "403 Forbidden")
    page.browser.click("(//*[@id='findings']//details[contains(., 'C11')]/summary)[1]")
    page.browser.click("(//*[@id='findings']//details[@open]//button)[1]")
    page.wait_text("#edits", "1 file edited")
    page.wait_text("#lines", "FileETag")
    page.wait(
        "![...document.querySelectorAll('#findings p')].some((one) => one.textContent.includes('before'))"
    )
    page.browser.click("//*[@id='findings']//button[starts-with(., 'Apply all')]")
    page.wait_text("#edits", "4 files edited")
    page.wait_text("#diff .patch", "Require ip 10.1.0.0/16")
    page.shot("diff-light")
    page.browser.click("//button[@id='tab-verify']")
    page.browser.click("//*[@id='verify']//button")
    page.wait("document.querySelector('#verify .badge')")
    assert page.browser.text("//*[@id='verify']//*[contains(@class, 'badge')]") in ("same", "not decided")
    page.browser.click("//button[@id='tab-compare']")
    page.wait_text("#compare .badge", "Same answer")
    page.shot("compare-light")
    assert main.read_bytes() == old
    page.browser.click("//button[@id='review']")
    page.browser.click("//*[@id='diff']//button[starts-with(., 'Write')]")
    page.wait_text("#diff .badge", "Written")
    assert b"Require all granted" in main.read_bytes()
    assert main.with_name("httpd.conf.whimbrel-2.2~").read_bytes() == old


@needs_browser
def test_markup_is_shown_and_never_run(studio: Callable[[], Page], tmp_path: Path) -> None:
    main = write_site(tmp_path)
    text = main.read_text() + f"# {MARKUP}\nErrorDocument 404 '{MARKUP}'\n"
    main.write_text(text.replace("conf/hosts/*.conf", "conf/hosts/*"))
    named = tmp_path / "conf/hosts" / MARKUP.replace("/", "")
    named.write_text(f'# {MARKUP}\n<Location "{MARKUP.replace(chr(34), "")}">\n</Location>\n')
    page = studio()
    page.wait_text("#files", MARKUP.replace("/", ""))
    page.ask(f"http://h1.example.org/{MARKUP.replace(' ', '')}")
    page.wait("document.querySelector('#answer-box').textContent.includes('onerror')")
    page.ask(
        f'10.2.3.4 - {MARKUP.split()[0]} [10/Oct/2000:13:55:36 -0700] "GET /{MARKUP[:4]} HTTP/1.0" 200 2'
    )
    page.wait("document.querySelector('#answer').textContent.length")
    page.open_line("conf/httpd.conf", 5)
    page.type_line(f"ServerName {MARKUP}")
    page.wait_text("#lines", MARKUP)
    page.browser.click("//button[@id='tab-diff']")
    assert page.browser.script("return document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert "Whimbrel studio" in page.browser.script("return document.title")


@needs_browser
def test_the_browser_refuses_html_from_text_and_inline_code(
    studio: Callable[[], Page], tmp_path: Path
) -> None:
    write_site(tmp_path)
    page = studio()
    refused = (
        "try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'ran' }catch { return 'no' }"
    )
    assert page.browser.script(refused) == "no"
    inline = (
        "const one = document.createElement('script'); let refused = 'no';"
        "try { one.textContent = \"document.title = 'ran'\"; document.head.append(one) }"
        "catch { refused = 'yes' }"
        "return [refused, document.title]"
    )
    assert page.browser.script(inline)[0] == "yes"
    assert page.browser.script("return document.title") == "Whimbrel studio"


@needs_browser
def test_without_the_key_the_page_says_where_it_is(studio: Callable[[], Page], tmp_path: Path) -> None:
    write_site(tmp_path)
    page = studio()
    page.browser.script("sessionStorage.clear()")
    page.browser.open(page.server.url.partition("#")[0])
    page.wait_text("#notice", "open the address that `whimbrel studio` has printed")
    assert page.browser.script("return document.querySelectorAll('#files li').length") == 0


@needs_browser
def test_a_narrow_screen_has_tabs_and_no_sideways_scrolling(
    studio: Callable[[], Page], tmp_path: Path
) -> None:
    write_site(tmp_path)
    page = studio()
    page.ask(URL)
    page.browser.resize(360, 740)
    for tab in ("config", "answer", "side"):
        page.browser.click(f"//button[@id='tab-{tab}']")
        shown = page.browser.script(
            "return [...document.querySelectorAll('.column')]"
            ".filter((one) => one.offsetWidth).map((one) => one.id)"
        )
        assert shown == [tab]
        assert page.browser.script("return document.documentElement.scrollWidth") <= 360
        page.shot(f"narrow-{tab}")


@needs_browser
@pytest.mark.skipif(not AXE, reason="needs axe-core: WHIMBREL_AXE=path/of/axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1600, 390])
def test_axe_finds_no_serious_fault(
    studio: Callable[[], Page], tmp_path: Path, scheme: str, width: int
) -> None:
    write_site(tmp_path)
    page = studio()
    page.ask(URL)
    page.wait_text("#verdict .badge", "403 Forbidden")
    page.browser.prefer_scheme(scheme)
    page.browser.resize(width, 1000)
    page.browser.script(Path(AXE).read_text() + "; window.axe = axe;")
    faults = []
    for tab in ("config", "answer", "findings", "compare", "verify", "diff"):
        if width < 1000 or tab in ("findings", "compare", "verify", "diff"):
            page.browser.script(
                "document.querySelector(`#tab-${arguments[0]}`).closest('.inner')"
                " && document.querySelector('#tab-side').click();"
                "document.querySelector(`#tab-${arguments[0]}`).click()",
                tab,
            )
        found = page.browser.script_later("axe.run().then(arguments[0])")
        faults += [
            (tab, fault["id"], [node["html"][:200] for node in fault["nodes"]][:3])
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    assert faults == []


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    write_site(tmp_path)
    with StudioServer(tmp_path) as server:
        group = server.process.pid
        assert api(server, "findings", {})[0] == 200
        started = time.monotonic()
        assert server.stop(signal.SIGINT) == 0
        assert time.monotonic() - started < 10
        left = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, check=False)
        end = time.monotonic() + SECONDS
        while left.stdout.strip() and time.monotonic() < end:
            time.sleep(PAUSE)
            left = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, check=False)
        assert left.stdout.strip() == b""
    assert list(server.temporary.iterdir()) == []


def test_the_server_listens_on_the_loopback_and_checks_host_and_key(tmp_path: Path) -> None:
    write_site(tmp_path)
    with StudioServer(tmp_path) as server:
        sockets = Path("/proc/net/tcp").read_text().splitlines()
        listening = [line.split()[1] for line in sockets if line.split()[3] == "0A"]
        assert f"0100007F:{server.port:04X}" in listening
        assert f"00000000:{server.port:04X}" not in listening
        assert api(server, "state", {})[0] == 200
        assert api(server, "state", {}, host="evil.example")[0] == 421
        assert api(server, "state", {}, key="x")[0] == 403
        assert api(server, "state", {}, origin="http://evil.example")[0] == 403
        assert api(server, "log_line", {"line": "x" * (1 << 20)})[0] == 413
        assert api(server, "log_line", {"line": "x" * (7 << 20)})[0] == 413


def api(
    server: StudioServer,
    method: str,
    body: dict[str, object],
    *,
    host: str = "",
    key: str = "",
    origin: str = "",
) -> tuple[int, bytes]:
    """Return status and body of a call of the API over a socket."""
    own = f"127.0.0.1:{server.port}"
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        client.putrequest("POST", f"/api/{method}", skip_host=True)
        data = json.dumps(body).encode()
        fields = {
            "Host": host or own,
            "Origin": origin or f"http://{own}",
            "X-Whimbrel-Token": key or server.key,
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
        }
        for name, value in fields.items():
            client.putheader(name, value)
        client.endheaders()
        try:
            client.send(data)
        except ConnectionError:
            pass  # refused by its head
        response = client.getresponse()
        return response.status, response.read()
    finally:
        client.close()
