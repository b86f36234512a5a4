"""StudioSession: the edits of the page, and the processes that compute what it shows."""

from __future__ import annotations

import base64
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from whimbrel.studio.analyst import Analyst
from whimbrel.studio.documents import Refused, encoded, from_page, number_in, text_in
from whimbrel.studio.overlay import AcceptedChange, EditedText, EditOverlay, with_lines
from whimbrel.studio.process import Files

QUICK: Final = "quick"
COMPLETE: Final = "complete"
FINDINGS: Final = "findings"
ANSWER_SECONDS: Final = 30.0
CHECK_SECONDS: Final = 300.0
VERIFY_SECONDS: Final = 300.0
Json = dict[str, object]
Method = Callable[[Json], Awaitable[bytes]]


class StudioSession:
    """What one page works on.

    Attributes:
        token: the secret of this run; a request of the API has it in a field of its head.
        title: the main file, as the page names it.
        overlay: the edits in memory.
    """

    def __init__(self, control: socket.socket, title: str, undo: str = "") -> None:
        self.token = secrets.token_urlsafe(32)
        self.title = title
        self.undo = undo
        self.overlay = EditOverlay()
        self._paths: dict[str, str] = {}
        self._is_writing = False
        self._processes = {name: Analyst(control, name) for name in (QUICK, COMPLETE, FINDINGS)}
        self._shown_diff = -1
        self.methods: Mapping[str, Method] = {
            "state": self._state,
            "reload": self._reload,
            "files": self._files,
            "file": self._file,
            "answer": self._answer,
            "compare": self._compare,
            "log_line": self._log_line,
            "findings": self._findings,
            "edit": self._edit,
            "undo": self._undo,
            "redo": self._redo,
            "fix": self._fix,
            "fix_all": self._fix_all,
            "verify": self._verify,
            "diff": self._diff,
            "write": self._write,
        }

    # reading --------------------------------------------------------------------------------------
    async def _state(self, _arguments: Json) -> bytes:
        return encoded(self._described())

    def _described(self) -> Json:
        undo, redo = self.overlay.steps
        shown = {path: name for name, path in self._paths.items()}
        return {
            "title": self.title,
            "version": self.overlay.version,
            "edited": sorted(shown.get(path, path) for path in self.overlay.files),
            "undo": undo,
            "redo": redo,
            "undo_command": self.undo,
        }

    async def _reload(self, _arguments: Json) -> bytes:
        """Read the files on disk again: they may have changed."""
        self._require_no_write()
        for process in self._processes.values():
            process.restart()
        self._paths = {}
        return encoded(self._described())

    async def _files(self, _arguments: Json) -> bytes:
        found = json.loads(await self._run(COMPLETE, "files", {}, CHECK_SECONDS))
        self._paths = dict(zip(found["names"], found["paths"], strict=True))
        return encoded({"names": found["names"], "left_out": found["left_out"]})

    async def _file(self, arguments: Json) -> bytes:
        path = await self._path(arguments)
        return await self._run(
            QUICK, "file", {"path": path, "first": number_in(arguments, "first", 1)}, ANSWER_SECONDS
        )

    async def _answer(self, arguments: Json) -> bytes:
        name = QUICK if arguments.get("quick") is True else COMPLETE
        return await self._run(name, "answer", arguments, ANSWER_SECONDS, replaces=True)

    async def _compare(self, arguments: Json) -> bytes:
        return await self._run(
            COMPLETE, "compare", {**arguments, "quick": True}, ANSWER_SECONDS, replaces=True
        )

    async def _log_line(self, arguments: Json) -> bytes:
        return await self._run(COMPLETE, "log_line", arguments, ANSWER_SECONDS, replaces=True)

    async def _findings(self, arguments: Json) -> bytes:
        path = await self._path(arguments) if arguments.get("file") else ""
        if path:
            return await self._run_decided("findings", {"path": path})
        return await self._run_decided("findings", {}, replaces=True)

    async def _run_decided(
        self, job: str, arguments: Json, *more: AcceptedChange, replaces: bool = False
    ) -> bytes:
        """Run a job on the texts before accepted changes, with these and *more*."""
        overlay = self.overlay
        accepted = (*overlay.state.accepted, *more)
        return await self._processes[FINDINGS].run(
            job,
            {**arguments, "accepted": accepted},
            f"{overlay.version} before changes" if overlay.state.accepted else str(overlay.version),
            overlay.base,
            seconds=CHECK_SECONDS,
            replaces=replaces,
            ends=replaces,
        )

    async def _verify(self, arguments: Json) -> bytes:
        return await self._run(FINDINGS, "verify", arguments, VERIFY_SECONDS)

    async def _path(self, arguments: Json) -> str:
        """Return the path of a file of the configuration; raises Refused for any other file."""
        name = text_in(arguments, "file")
        if not self._paths:
            await self._files({})
        found = {self._paths.get(from_page(name)), self._paths.get(name)} - {None}
        if len(found) > 1:
            raise Refused("two files of the configuration look like this name", 409)
        for path in found:
            if path is not None:
                return path
        raise Refused("this is no file of the configuration", 404)

    async def _run(
        self,
        process: str,
        job: str,
        arguments: Mapping[str, object],
        seconds: float,
        *,
        replaces: bool = False,
        ends: bool = False,
    ) -> bytes:
        analyst = self._processes[process]
        version = str(self.overlay.version)
        files = self.overlay.files
        return await analyst.run(
            job, arguments, version, files, seconds=seconds, replaces=replaces, ends=ends
        )

    # editing --------------------------------------------------------------------------------------
    async def _edit(self, arguments: Json) -> bytes:
        path = await self._path(arguments)
        self._require_version(arguments)
        lines = arguments.get("lines")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise Refused("the lines are no list of texts")
        edited = await self._edited(path)
        self._require_version(arguments)
        first = number_in(arguments, "first", 1)
        count = number_in(arguments, "count", 1)
        text = with_lines(edited.text, first, count, lines)
        group = f"{path}\n{text_in(arguments, 'group', 64)}" if arguments.get("group") else ""
        self.overlay.put({path: EditedText(edited.disk, text)}, group)
        return encoded(self._described())

    def _require_no_write(self) -> None:
        if self._is_writing:
            raise Refused("the files are being written: wait for a moment", 409)

    def _require_version(self, arguments: Json) -> None:
        self._require_no_write()
        if number_in(arguments, "version") != self.overlay.version:
            raise Refused("the text has changed meanwhile: look at it again", 409)

    async def _edited(self, path: str) -> EditedText:
        known = self.overlay.files.get(path)
        return known or EditedText(*[await self._source(path)] * 2)

    async def _source(self, path: str) -> bytes:
        found = json.loads(await self._run(QUICK, "source", {"path": path}, ANSWER_SECONDS))
        return base64.b64decode(found["data"])

    async def _undo(self, _arguments: Json) -> bytes:
        self._require_no_write()
        self.overlay.undo()
        return encoded(self._described())

    async def _redo(self, _arguments: Json) -> bytes:
        self._require_no_write()
        self.overlay.redo()
        return encoded(self._described())

    async def _fix(self, arguments: Json) -> bytes:
        self._require_version(arguments)
        change = text_in(arguments, "rule", 16), await self._path(arguments), number_in(arguments, "line")
        accepted = (*self.overlay.state.accepted, change)
        document = json.loads(await self._run_decided("fix", {}, change))
        base = self.overlay.base
        files = {}
        for path, data in document["texts"].items():
            disk = base[path].disk if path in base else (await self._edited(path)).disk
            files[path] = EditedText(disk, base64.b64decode(data))
        self._require_version(arguments)
        self.overlay.accept(files, accepted)
        return encoded({**self._described(), "changed": len(files)})

    async def _fix_all(self, arguments: Json) -> bytes:
        self._require_version(arguments)
        base = self.overlay.base
        return await self._take(await self._run_decided("fix_all", {}), arguments, base)

    async def _take(self, document: bytes, arguments: Json, base: Files) -> bytes:
        """Take the texts that an upgrade makes of *base* as one edit."""
        texts = {path: base64.b64decode(data) for path, data in json.loads(document)["texts"].items()}
        files = dict(base)
        for path, text in texts.items():
            files[path] = EditedText((await self._edited(path)).disk, text)
        self._require_version(arguments)
        self.overlay.put(files)
        return encoded({**self._described(), "changed": len(files)})

    # writing --------------------------------------------------------------------------------------
    async def _diff(self, _arguments: Json) -> bytes:
        version = self.overlay.version
        document = json.loads(await self._run(FINDINGS, "diff", {}, ANSWER_SECONDS))
        self._shown_diff = version
        return encoded({**document, "version": version})

    async def _write(self, arguments: Json) -> bytes:
        self._require_version(arguments)
        if self._shown_diff != self.overlay.version:
            raise Refused("look at the diff of this text first", 409)
        if not self.overlay.files:
            raise Refused("no file is edited")
        self._is_writing = True
        try:
            document = json.loads(await self._run(FINDINGS, "write", {}, CHECK_SECONDS))
        finally:
            self._is_writing = False
        self.overlay.clear()
        for name in (QUICK, COMPLETE):
            self._processes[name].restart()
        return encoded({**self._described(), "written": document["written"], "backups": document["backups"]})
