"""`whimbrel serve --wsgi MODULE:APPLICATION`: a configuration of mod_wsgi for one application, in a directory
of its own.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import whimbrel
from whimbrel.base.file_writing import make_directories, write_named
from whimbrel.utilities.usage_error import UsageError

PORT: Final = 8000
_NAME: Final = re.compile(r"(?P<module>[A-Za-z_][\w.]*)(?::(?P<application>[A-Za-z_][\w.]*))?\Z")
_CONF: Final = """ServerRoot "{tree}"
ServerName localhost
Listen 127.0.0.1:{port}
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule log_config_module modules/mod_log_config.so
LoadModule wsgi_module modules/mod_wsgi.so
DocumentRoot "{tree}/htdocs"
WSGIDaemonProcess application home="{directory}" python-path="{directory}"
WSGIScriptAlias / "{tree}/application.wsgi" process-group=application application-group=%{{GLOBAL}}
<Directory "{tree}">
    Require all granted
</Directory>
"""
_SCRIPT: Final = """import importlib
from operator import attrgetter

application = attrgetter({application!r})(importlib.import_module({module!r}))
"""


def _require_readable(directory: str) -> None:
    """Raise UsageError if the process of the application cannot reach the interpreter, this package or
    *directory*: each request would wait for its start. It runs as nobody where root serves.
    """
    for what, path in (
        ("the interpreter", sys.executable),
        ("the interpreter", os.path.realpath(sys.executable)),
        ("the environment", sys.prefix),
        ("the package whimbrel", os.path.dirname(whimbrel.__file__)),
        ("the current directory", directory),
    ):
        closed = _closed_directory(path)
        if closed:
            raise UsageError(
                f"--wsgi: root serves as the user nobody, who cannot enter {closed}, where {what} is: use an "
                "environment and a directory that every user can read, or serve as another user than root"
            )


def _closed_directory(path: str) -> str:
    """Return the first directory on the way to *path*, or *path* itself, that other users cannot enter; ""
    for none.
    """
    parts = Path(path).parts
    for count in range(1, len(parts) + 1):
        one = Path(*parts[:count])
        if not one.stat().st_mode & stat.S_IXOTH:
            return str(one)
    return ""


@contextmanager
def application_tree(name: str) -> Iterator[Path]:
    """Yield a server root that serves the application *name*; it goes with the context. Raises UsageError."""
    match = _NAME.match(name)
    if match is None:
        raise UsageError(f"--wsgi: {name!r} is not MODULE:APPLICATION")
    directory = os.getcwd()
    if '"' in directory:
        raise UsageError("--wsgi: the name of this directory has a quote")
    if os.getuid() == 0:
        _require_readable(directory)
    with TemporaryDirectory(prefix="whimbrel-wsgi-") as text:
        tree = Path(text)
        tree.chmod(0o755)  # root serves as another user
        for each in ("conf", "htdocs", "logs"):
            make_directories(os.fsencode(tree / each))
        conf = _CONF.format(tree=tree, port=PORT, directory=directory)
        write_named(os.fsencode(tree / "conf/httpd.conf"), conf.encode())
        script = _SCRIPT.format(module=match["module"], application=match["application"] or "application")
        write_named(os.fsencode(tree / "application.wsgi"), script.encode())
        yield tree
