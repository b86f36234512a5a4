"""Names of the product: what -v prints, and what a status page and programs of a site read."""

from __future__ import annotations

from whimbrel import __version__

VERSION = ".".join(__version__.split(".")[:2])
REPOSITORY = "https://github.com/whimbrel-httpd/whimbrel"
COMPATIBLE = {"2.2": "2.2.34", "2.4": "2.4.71", "guide": "2.4.71"}
# SERVER_SOFTWARE, whatever ServerTokens: applications search it for the word Apache
SOFTWARE = f"Whimbrel/{VERSION} (Apache/2.4 compatible)"


def server_description(dialect: str) -> str:
    """Return the server's name and version whatever ServerTokens (ap_get_server_description).

    Programs search it for a word that begins with ``Apache/``.
    """
    return f"Apache/{COMPATIBLE[dialect]} (Whimbrel/{VERSION})"
