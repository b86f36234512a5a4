"""The address of a receiver of OTLP over HTTP."""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")
_URL: Final = re.compile(r"(https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)(/[!-~]*)?")


def traces_url(text: str) -> str | None:
    """Return the URL to which spans are sent, for ``host:port`` or a URL; None for other texts.

    A URL without a path gets that of OTLP, ``/v1/traces``.
    """
    if _HOST.fullmatch(text):
        text = f"http://{text}"
    url = _URL.fullmatch(text)
    if url is None:
        return None
    return url[0] if url[2] and url[2] != "/" else f"{url[1]}/v1/traces"
