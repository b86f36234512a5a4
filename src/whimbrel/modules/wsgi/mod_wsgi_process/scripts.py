"""Scripts as modules: source, name, time of the last change."""

from __future__ import annotations

import os
import types
from hashlib import md5


def modified(path: str) -> int:
    """Return the time of a file's last change, 0 without the file."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def compiled(path: str) -> types.CodeType:
    """Return the code of the script at *path*."""
    with open(path, "rb") as file:
        source = file.read()
    code: types.CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def new_module(path: str) -> types.ModuleType:
    """Return an empty module for the script at *path*, under mod_wsgi's name for it."""
    name = "_mod_wsgi_" + md5(path.encode("utf-8", "surrogateescape")).hexdigest()
    module = types.ModuleType(name)
    module.__file__ = path
    module.__dict__["__mtime__"] = modified(path)
    return module
