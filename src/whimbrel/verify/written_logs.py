"""The access logs that the server of a configuration writes, and that are on this machine: what a replay can
read.
"""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.configuration import Configuration


def written_logs(configuration: Configuration) -> list[str]:
    """Return the files of CustomLog, GlobalLog and TransferLog lines, those of the main server first, at
    their places on disk: those that are here and have lines.
    """
    # most configurations that are compared have no logs here
    from whimbrel.modules.loggers.mod_log_config import COOKIES, LogServerConfig
    from whimbrel.modules.support.setters import own

    found: dict[str, None] = {}
    for server in configuration.servers():
        for log in own(server.config(LogServerConfig), "logs", list):
            place = configuration.disk.on_disk(log.sink.target)
            is_file = not (log.sink.piped or log.sink.syslog or log.format == COOKIES)
            if is_file and os.path.isfile(to_bytes(place)) and os.path.getsize(to_bytes(place)):
                found[place] = None
    return list(found)
