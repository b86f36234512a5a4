"""A site with users and groups behind an engine in this process: for tests of authentication and
authorization.
"""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from tests.support.engine import start_engine
from tests.support.site import CONF, Site, load_module_lines
from whimbrel.base.dialect import DIALECTS
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = {
    "2.2": "log_config dir authz_host auth_basic authn_file authz_user authz_groupfile authz_owner setenvif",
    "2.4": (
        "mpm_event authz_core dir authz_host access_compat authn_core auth_basic authn_file authz_user "
        "authz_groupfile authz_owner setenvif"
    ),
}
# The passwords are wonder and builder.
USERS = "# people\nalice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\nbob:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\n"
GROUPS = "admin: alice\nstaff: alice bob\n"
BASIC = "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n"
FILES = {
    "conf/users": USERS,
    "conf/groups": GROUPS,
    "htdocs/f.html": "page\n",
    "htdocs/in/f.html": "inner\n",
}


class AccessSite(Site):
    """A site with an engine on it; *conf* names the document root with ``@DOCROOT@``."""

    def __init__(self, root: Path, conf: str, version: str = "2.4", modules: str = "") -> None:
        lines = [
            f'ServerRoot "{root}"',
            "ServerName localhost",
            "ErrorLog logs/error_log",
            f'DocumentRoot "{root}/htdocs"',
            "Listen 127.0.0.1:8080",
        ]
        preamble = load_module_lines((modules or MODULES[version]).split()) + "\n".join(lines) + "\n"
        super().__init__(root, preamble + conf.replace("@DOCROOT@", f"{root}/htdocs"), FILES)
        self.runtime = FakeRuntime()
        self.engine = start_engine(root, CONF, DIALECTS[version], self.runtime)

    def fetch(
        self,
        path: str = "/f.html",
        *,
        user: str = "",
        source: str = "127.0.0.1",
        method: str = "GET",
        headers: str = "",
    ) -> str:
        """Return the response as text; *user* is ``name:password``, *headers* are further field lines."""
        auth = f"Authorization: Basic {b64encode(user.encode()).decode()}\r\n" if user else ""
        request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{auth}{headers}\r\n"
        client = TestClient(self.engine, Connection(source, 5000, "127.0.0.1", 8080))
        return client.send(request.encode()).decode("latin-1")

    def status(self, path: str = "/f.html", **more: str) -> int:
        """Return the status of the response."""
        return int(self.fetch(path, **more).split(" ", 2)[1])

    def codes(self) -> list[str]:
        """Return the AH codes logged since the last call, in order; for 2.2 the texts of the lines."""
        text = self._log_text()
        self.runtime.logs.clear()
        return re.findall(r"AH\d{5}", text) or re.findall(r"\[client [^]]*\] (.*)", text)

    def results(self) -> list[str]:
        """Return the logged result of each authorization step (level debug)."""
        return re.findall(r"authorization result of (.*)", self._log_text())

    def _log_text(self) -> str:
        return b"".join(line for lines in self.runtime.logs.values() for line in lines).decode("latin-1")


def session_fields(response: str, name: str) -> list[str]:
    """Return every value of a response field, with N for the expiry of a session."""
    values = re.findall(rf"^{name}: (.*?)\r$", response, re.MULTILINE)
    return [re.sub(r"expiry=\d{14,}", "expiry=N", value) for value in values]
