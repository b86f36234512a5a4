"""Write docs/report-*.png and docs/studio.png: the pages of the example site, and the studio, in Chromium.

Usage: python -m tools.page_pictures [DIRECTORY].
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.pages.report_site import report_pages
from tests.support.studio import StudioServer
from tests.support.webdriver import Chromium
from tests.unit.studio.studio_site import write_site

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
HOME: Final = "/srv/www/example"
"""What the pictures have in the place of a temporary directory."""
REPORTS: Final = {"upgrade": ("light", 1180), "verify": ("light", 1120), "replay": ("dark", 1330)}
"""Pages, with their color scheme and height in pixels."""
WIDTH: Final = 1120
STUDIO_SIZE: Final = (1440, 860)
URL: Final = "http://h1.example.org/closed/"
SECONDS: Final = 20.0
IS_READY: Final = "return !!document.querySelector('#findings .badge')"
IS_ANSWERED: Final = "return !!document.querySelector('#verdict .badge')"
RENAME: Final = """
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  walker.currentNode.data = walker.currentNode.data.replaceAll(arguments[0], arguments[1]);
}
"""


def draw_reports(browser: Chromium, base: Path, target: Path) -> None:
    """Write the pictures of the report pages."""
    pages = report_pages(base)
    for name, (scheme, height) in REPORTS.items():
        page = base / f"{name}.html"
        page.write_text(pages[name].replace(str(base), HOME), encoding="utf-8")
        browser.open(page.as_uri())
        browser.prefer_scheme(scheme)
        browser.resize(WIDTH, height)
        (target / f"report-{name}.png").write_bytes(browser.screenshot())


def draw_studio(browser: Chromium, base: Path, target: Path) -> None:
    """Write the picture of the studio with an answer that a line refuses."""
    write_site(base)
    browser.prefer_scheme("light")
    browser.resize(*STUDIO_SIZE)
    with StudioServer(base) as server:
        browser.open(server.url)
        _wait(browser, IS_READY)
        browser.write("//input[@id='url']", URL)
        _wait(browser, IS_ANSWERED)
        browser.script(RENAME, str(base), HOME)
        (target / "studio.png").write_bytes(browser.screenshot())


def _wait(browser: Chromium, condition: str) -> None:
    end = time.monotonic() + SECONDS
    while not browser.script(condition):
        if time.monotonic() > end:
            raise SystemExit(f"the studio does not get there: {condition}")
        time.sleep(0.1)


def main(target: Path) -> None:
    """Write all pictures into the directory *target*."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        for part in ("browser", "reports", "studio"):
            (base / part).mkdir()
        with Chromium(base / "browser") as browser:
            draw_reports(browser, base / "reports", target)
            draw_studio(browser, base / "studio", target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
