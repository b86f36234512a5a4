"""Contexts in which a directive may stand: httpd's req_override bits."""

from __future__ import annotations

from whimbrel.base.static_typing import IntFlag


class Context(IntFlag):
    """Contexts in which a directive may stand: httpd's req_override bits."""

    NONE = 0
    OR_LIMIT = 1
    OR_OPTIONS = 2
    OR_FILEINFO = 4
    OR_AUTHCFG = 8
    OR_INDEXES = 16
    OR_UNSET = 32
    ACCESS_CONF = 64
    RSRC_CONF = 128
    EXEC_ON_READ = 256
    NONFATAL_OVERRIDE = 512
    NONFATAL_UNKNOWN = 1024
    PROXY_CONF = 2048  # in <Proxy> of 2.4, beside ACCESS_CONF and OR_ALL
    OR_ALL = OR_LIMIT | OR_OPTIONS | OR_FILEINFO | OR_AUTHCFG | OR_INDEXES
