"""Client connections as the phases see them: httpd's conn_rec."""

from __future__ import annotations

from typing import Any

from whimbrel.base.lazy_dataclasses import dataclass, field


@dataclass(slots=True)
class Connection:
    """One client connection; addresses are numeric, *served* counts the requests before this one on it."""

    client_ip: str
    client_port: int
    local_ip: str
    local_port: int
    served: int = 0
    id: int = 0
    aborted: bool = False
    is_draining: bool = False  # the server is about to stop: the next answer is the last and says so
    useragent_ip: str = ""  # what mod_remoteip found for the request in hand; "" means client_ip
    user_port: int = 0  # the port that belongs to it; 0 means client_port
    proxied: tuple[str, int] | None = None  # client and port that the proxy named when the connection began
    log_id: str = ""  # given by the first line about it in the error log
    notes: dict[str, str] = field(default_factory=dict)
    rendering: Any = None  # the head for which a page is being made anew (`Request.remade`)
