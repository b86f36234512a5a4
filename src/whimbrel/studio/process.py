"""A process of analysis: jobs in, JSON out, over one socket. It starts no program and has a bound of memory.

A frame is the length of its payload in four bytes, and the payload. The first byte of a reply is its kind.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from whimbrel.studio.documents import Refused, encoded
from whimbrel.studio.overlay import EditedText

if TYPE_CHECKING:
    from whimbrel.studio.analysis import Analysis

LENGTH: Final = 4
MAX_REPLY: Final = 32 << 20
"""Bytes of a document, which the server holds in memory."""
DONE: Final = b"d"
REFUSED: Final = b"r"
Files = Mapping[str, EditedText]


def frame(payload: bytes) -> bytes:
    """Return *payload* as a frame."""
    return len(payload).to_bytes(LENGTH, "big") + payload


def job_frame(job: str, arguments: Mapping[str, object], files: Files | None) -> bytes:
    """Return the frame of a job; *files* is None where the process has the texts."""
    texts = None
    if files is not None:
        texts = {
            path: [one.disk.decode("latin-1"), one.text.decode("latin-1")] for path, one in files.items()
        }
    return frame(json.dumps([job, arguments, texts]).encode())


def serve(connection: socket.socket, analysis: Analysis) -> None:
    """Run the jobs of *connection* until its other end is closed."""
    files: Files = {}
    with connection.makefile("rb") as stream:
        while len(head := stream.read(LENGTH)) == LENGTH:
            payload = stream.read(int.from_bytes(head, "big"))
            job, arguments, texts = json.loads(payload)
            if texts is not None:
                files = {
                    path: EditedText(disk.encode("latin-1"), text.encode("latin-1"))
                    for path, (disk, text) in texts.items()
                }
            connection.sendall(frame(_reply(analysis, job, arguments, files)))


def _reply(analysis: Analysis, job: str, arguments: dict[str, object], files: Files) -> bytes:
    """Return kind, and document or reason; a job that fails leaves the process alive."""
    try:
        document = analysis.run(job, arguments, files)
        if len(document) >= MAX_REPLY:
            return _refused(f"the answer has more than {MAX_REPLY >> 20} MB", 413)
        return DONE + document
    except Refused as problem:
        return REFUSED + encoded({"error": problem.sentence, "status": problem.status})
    except MemoryError:
        return _refused("this needs more memory than the studio may take", 413)
    except RecursionError:
        return _refused("the configuration is nested too deeply", 413)
    except OSError as problem:
        return _refused(f"a file cannot be read: {os.strerror(problem.errno or 0)}", 500)
    except Exception as problem:
        return _refused(f"this failed inside Whimbrel ({type(problem).__name__}): please report it", 500)


def _refused(sentence: str, status: int) -> bytes:
    return REFUSED + encoded({"error": sentence, "status": status})
