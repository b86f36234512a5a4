"""Command line of the server as other processes read it: the program as it was called, no interpreter.

The kernel starts a script as `/opt/bin/python3 /usr/sbin/apache2 -k start`. Tools look for the program at
the beginning (`pgrep -f ^/usr/sbin/apache2` in logrotate's file, `pidof apache2`), where httpd has it. Linux
shows the memory that held the arguments at the start of the process; its address is in proc_pid_stat(5).
Processes that are forked later inherit it. A process changes it through /proc/self/mem, where a wrong
address is an error instead of a crash.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from whimbrel.base.numbers import decimal, split
from whimbrel.base.static_typing import Final

_ARG_START: Final = 48 - 3  # field 48 of proc_pid_stat(5); the state, which follows the name, is field 3


def show_command_line(words: Sequence[str]) -> None:
    """Move *words* (sys.argv), the end of this process's command line, to its beginning; name the process
    after the first of them.

    The command line stays if it does not end with *words* (`python -c`, `python -m`) or if the system does
    not show or change it.
    """
    shown = b"".join(os.fsencode(word) + b"\0" for word in words)
    try:
        current = _read("/proc/self/cmdline")
        if not words or not current.endswith(b"\0" + shown):
            return
        fields = split(_read("/proc/self/stat").rpartition(b")")[2].decode("latin-1"))
        start, end = map(decimal, fields[_ARG_START : _ARG_START + 2])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            if memory.read(end - start) != current:
                return
            memory.seek(start)
            memory.write(shown.ljust(len(current), b"\0"))
        # the kernel names a process after its script, unless a shell has executed the interpreter
        with open("/proc/self/comm", "wb", buffering=0) as name:
            name.write(os.path.basename(os.fsencode(words[0])))
    except (OSError, ValueError):
        return


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()
