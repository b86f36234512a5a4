"""Chromium without a window, driven by chromedriver over HTTP (W3C WebDriver)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from whimbrel.testing.ports import free_port

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of element references (WebDriver, 11)
_FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage --proxy-server=direct://""".split()


class Chromium:
    """A browser with a profile of its own below *base*; a context manager.

    Elements are named by XPath; one that does not appear in five seconds raises urllib.error.HTTPError.
    """

    def __init__(self, base: Path) -> None:
        self._profile, self._output = base / "profile", base / "chromedriver.log"
        self._port = free_port()
        self._session = ""

    def __enter__(self) -> Self:
        assert DRIVER is not None and CHROMIUM is not None
        with self._output.open("wb") as sink:
            self._process = subprocess.Popen(
                [DRIVER, f"--port={self._port}"],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        try:
            end = time.monotonic() + 20
            while not self._is_ready():
                assert time.monotonic() < end, self._output.read_text("latin-1")
                time.sleep(0.05)
            options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={self._profile}"]}
            wanted = {"alwaysMatch": {"goog:chromeOptions": options}}
            answer = self._call("POST", "/session", {"capabilities": wanted})
            self._session = f"/session/{answer['sessionId']}"
            self._call("POST", f"{self._session}/timeouts", {"implicit": 5000})  # milliseconds
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_problem: object) -> None:
        try:
            if self._session:
                self._call("DELETE", self._session)
        except OSError:
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(5)

    def processor_seconds(self) -> float:
        """Return the processor time that the browser and its pages have used: it does not depend on what
        else the machine does.
        """
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_bytes().rpartition(b") ")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[2]) == self._process.pid:  # its process group
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _is_ready(self) -> bool:
        try:
            return bool(self._call("GET", "/status")["ready"])
        except OSError:
            return False

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if method != "POST" else json.dumps(body or {}).encode()
        url = f"http://127.0.0.1:{self._port}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]

    def _element(self, xpath: str) -> str:
        found = self._call("POST", f"{self._session}/element", {"using": "xpath", "value": xpath})
        return f"{self._session}/element/{found[_ELEMENT]}"

    def open(self, url: str) -> None:
        """Load a page."""
        self._call("POST", f"{self._session}/url", {"url": url})

    def text(self, xpath: str = "//body") -> str:
        """Return the visible text of an element."""
        return str(self._call("GET", f"{self._element(xpath)}/text"))

    def value(self, xpath: str) -> str:
        """Return the value of a field of a form."""
        return str(self._call("GET", f"{self._element(xpath)}/property/value"))

    def script(self, text: str, *arguments: object) -> Any:
        """Return what the body of a function returns in the page; its arguments are `arguments`."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": text, "args": list(arguments)})

    def script_later(self, text: str, *arguments: object) -> Any:
        """Return what the body of a function gives to the callback that is its last argument."""
        return self._call("POST", f"{self._session}/execute/async", {"script": text, "args": list(arguments)})

    def devtools(self, command: str, **parameters: object) -> Any:
        """Send a command of the DevTools protocol."""
        body = {"cmd": command, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", body)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page's view in CSS pixels."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer_scheme(self, name: str) -> None:
        """Make ``light`` or ``dark`` the color scheme of the system."""
        self.devtools(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )

    def screenshot(self, *, is_whole: bool = False) -> bytes:
        """Return the view, or the whole page, as PNG."""
        answer = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole)
        return base64.b64decode(answer["data"])

    def press(self, key: str) -> None:
        """Press and release a key, in the words of KeyboardEvent.key."""
        text = {"text": key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.devtools("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.devtools("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def click(self, xpath: str) -> None:
        """Click on an element of a page that stays; look again for one that a script replaces meanwhile."""
        end = time.monotonic() + 10
        while True:
            try:
                self._call("POST", f"{self._element(xpath)}/click")
                return
            except urllib.error.HTTPError as problem:
                if problem.code != 404 or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def follow(self, xpath: str) -> None:
        """Click on a link or button that leads to another page; return when that has replaced this one."""
        before = self._element("/html")
        self.click(xpath)
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end:
                self._call("GET", f"{before}/name")
                time.sleep(0.02)
        except urllib.error.HTTPError:  # the element is stale
            return
        raise AssertionError(f"{xpath} leads nowhere")

    def write(self, xpath: str, text: str) -> None:
        """Replace the text of a field of a form."""
        element = self._element(xpath)
        self._call("POST", f"{element}/clear")
        self._call("POST", f"{element}/value", {"text": text})
