"""A server around one .htaccess file: its directory is the document root, or stands at a URL path."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from typing import Final

from whimbrel.base.file_writing import Tree, make_directories, write_over

MODULES: Final = (
    "authn_file authz_host authz_groupfile authz_user auth_basic mime dir alias env setenvif"
    " headers expires rewrite negotiation autoindex include deflate filter actions"
).split()
"""Modules of both versions that lines of a .htaccess file need."""
MODULES_24: Final = ("authn_core", "authz_core", "access_compat", "mpm_event", "unixd")
TYPES: Final = """\
application/json json
application/pdf pdf
application/xml xml xsl
application/zip zip
font/woff woff
font/woff2 woff2
image/gif gif
image/jpeg jpeg jpg jpe
image/png png
image/svg+xml svg svgz
image/webp webp
text/css css
text/html html htm
text/javascript js mjs
text/plain txt text conf def list log in
"""
"""The usual media types, alike on every machine."""

_UNQUOTABLE: Final = re.compile(r'["\x00-\x1f]|\$\{|\\')
_WILD: Final = re.compile(r"[*?\[]")


class HtaccessServer:
    """A server root in a temporary directory, which is removed with the object. Raises OSError.

    Attributes:
        root: the server root; `file`: its main file.
    """

    def __init__(self, htaccess: str, at: str, dialect: str) -> None:
        self._holder = tempfile.TemporaryDirectory(prefix="whimbrel-", ignore_cleanup_errors=True)
        self.root = self._holder.name
        os.chmod(self.root, 0o755)  # the account of a live server goes through it to the documents
        self.file = os.path.join(self.root, "conf/httpd.conf")
        directory, name = os.path.split(os.path.abspath(htaccess))
        if _UNQUOTABLE.search(f"{directory}/{name}"):
            text = "quotes, line ends and variables of a path cannot be written in a configuration"
            raise OSError(errno.EINVAL, text, htaccess)
        for part in ("conf", "logs", "htdocs"):
            make_directories(os.fsencode(os.path.join(self.root, part)))
        write_over(os.fsencode(os.path.join(self.root, "conf/mime.types")), TYPES.encode())
        documents = self._documents(directory, at.strip("/"))
        lines = _lines(self.root, documents, name, dialect)
        write_over(os.fsencode(self.file), os.fsencode("\n".join((*lines, ""))))

    def _documents(self, directory: str, at: str) -> str:
        """Return the document root in which *directory* stands at the URL path *at*."""
        if not at:
            return directory
        if directory.endswith(f"/{at}"):
            return directory.removesuffix(f"/{at}")
        documents = os.path.join(self.root, "htdocs")
        path = os.fsencode(os.path.join(documents, at))
        with Tree(os.fsencode(documents)).place(path, create=True, follow=False) as link:
            link.make_link(os.fsencode(directory))
        return documents

    def close(self) -> None:
        """Remove the directory."""
        self._holder.cleanup()


def _lines(root: str, documents: str, name: str, dialect: str) -> list[str]:
    is_24 = dialect != "2.2"
    pattern = _WILD.sub(r"[\g<0>]", documents)
    names = [*MODULES, *(MODULES_24 if is_24 else ())]
    grant = ["Require all granted"] if is_24 else ["Order allow,deny", "Allow from all"]
    return [
        f'ServerRoot "{root}"',
        *(f"LoadModule {module}_module modules/mod_{module}.so" for module in names),
        "Listen 80",
        "ServerName localhost",
        "ErrorLog logs/error_log",
        "TypesConfig conf/mime.types",
        f'DocumentRoot "{documents}"',
        *(["AccessFileName .htaccess"] if name == ".htaccess" else [f'AccessFileName "{name}" .htaccess']),
        "<Directory />",
        "AllowOverride None",
        "Options FollowSymLinks",
        "</Directory>",
        f'<Directory "{pattern}">',
        "AllowOverride All",
        "Options FollowSymLinks",
        *grant,
        "</Directory>",
    ]
