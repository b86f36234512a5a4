"""Processes, descriptors, sockets and shared memory of a server, as /proc shows them."""

from __future__ import annotations

import stat
import time
from contextlib import suppress
from pathlib import Path


def session_of(pid: int) -> int:
    """Return the session of a process; 0 if it is gone or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if words[0] == "Z" else int(words[3])


def members(session: int) -> list[int]:
    """Return the running processes of a session."""
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in numbers if session_of(pid) == session]


def command(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("latin-1")[:150]
    except OSError:
        return "gone"


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def descriptors(pid: int) -> int:
    """Return the number of open descriptors of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def segments_of(session: int) -> set[str]:
    """Return the shared segments of the processes of a session: POSIX by path, System V by number."""
    found: set[str] = set()
    for pid in members(session):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                words = line.split(maxsplit=5)
                name = words[5] if len(words) > 5 else ""
                if name.startswith("/dev/shm/"):
                    found.add(name)
                elif name.startswith("/SYSV"):
                    found.add(words[4])
    return found


def present_segments() -> set[str]:
    """Return the names of all shared segments of this machine, as `segments_of` names them."""
    found = {str(path) for path in Path("/dev/shm").iterdir()} if Path("/dev/shm").is_dir() else set()
    table = Path("/proc/sysvipc/shm")
    if table.exists():
        found |= {line.split()[1] for line in table.read_text().splitlines()[1:]}
    return found


def special_files(root: Path) -> list[str]:
    """Return the sockets and named pipes below a directory."""
    return [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if stat.S_ISSOCK(path.lstat().st_mode) or stat.S_ISFIFO(path.lstat().st_mode)
    ]


def left_after(session: int, root: Path, segments: set[str], seconds: float = 5.0) -> list[str]:
    """Return what a server that was stopped has left: processes after *seconds*, files, and which of the
    *segments* that it had mapped.
    """
    end = time.monotonic() + seconds
    while (running := members(session)) and time.monotonic() < end:
        time.sleep(0.05)
    left = [f"process {pid} is left: {command(pid)}" for pid in running]
    left += [f"shared memory is left: {name}" for name in sorted(segments & present_segments())]
    left += [f"a socket or pipe is left: {name}" for name in special_files(root)]
    if (root / "logs/pid").exists():
        left.append("the PidFile is left")
    return left
