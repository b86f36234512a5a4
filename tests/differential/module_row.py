"""A row of the table of modules: a few lines of configuration, one request, and text that shows the module's
work.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One module at work, in a virtual host of its own.

    Attributes:
        module: base name in the table of modules.
        conf: lines of the virtual host; ``@`` is the server root, ``%NAME%`` a port of a back end.
        path: target of the request.
        shows: pattern in the response, or in *log*, that is absent without the module; from apache2's answer
            where Debian has the module, otherwise from the manual.
        name: name of the host, if it is not that of the module.
        main: lines of the main server.
        loads: other modules that are needed.
        fields: further fields of the request.
        user: ``name:password`` of Basic.
        times: requests that are sent; the last one's response counts.
        log: file below the server root that holds the pattern.
        files: documents and other files by name below the server root.
        needs: a condition of `module_site.NEEDS`; the row is skipped without it.
        versions: the dialects.
        process: name of a server apart from that of the other rows: its MPM.
        apart: the reason why apache2 does not get the request.
    """

    module: str
    conf: str
    path: str
    shows: str
    name: str = ""
    main: str = ""
    loads: str = ""
    method: str = "GET"
    fields: str = ""
    body: str = ""
    user: str = ""
    times: int = 1
    log: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    versions: tuple[str, ...] = ("2.4",)
    apart: str = ""
    process: str = ""

    @property
    def host(self) -> str:
        """Name of the virtual host."""
        return (self.name or self.module.replace("_", "-")).lower() + ".test"

    def request(self, filled: Callable[[str], str]) -> bytes:
        """Return the request; *filled* replaces ports and places in a text."""
        user = f"Authorization: Basic {b64encode(self.user.encode()).decode()}\r\n" if self.user else ""
        body = filled(self.body)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        return (
            f"{self.method} {filled(self.path)} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n"
            f"{user}{self.fields}{length}\r\n{body}"
        ).encode("latin-1")


BOTH = ("2.4", "2.2")
OLD = ("2.2",)
