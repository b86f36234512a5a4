"""The jobs of one process of analysis, by name: what the server of the page may let it compute.

A job gets the edited texts each time, so a process that was ended is replaced by an equal one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.studio.answers import Answers, Json
from whimbrel.studio.documents import Refused, encoded, from_page, number_in, text_in
from whimbrel.studio.findings import FindingKey, Findings
from whimbrel.studio.lines import lines_of, sections_of
from whimbrel.studio.overlay import EditedText
from whimbrel.studio.requests import MAX_LOG_LINE, form_of_log_line
from whimbrel.studio.writing import diff_of, write_edits
from whimbrel.upgrade.source.reading import Sources

MAX_FILE: Final = 16 << 20
"""Bytes of a file that is shown."""
MAX_FILES: Final = 5000
"""Files that are listed."""
FOR_SERVER: Final = frozenset(("files", "source", "fix", "fix_all", "diff", "write"))
"""Jobs whose result the server reads: its texts keep one character per byte."""


class Analysis:
    """The jobs for one configuration; each takes the arguments of the page and the edited texts."""

    def __init__(self, sources: Sources) -> None:
        assert sources.options is not None
        self.sources = sources
        self.answers = Answers(sources.options)
        self.findings = Findings(sources)
        self._jobs: dict[str, Callable[[Json, Mapping[str, EditedText]], Json]] = {
            "files": self._files,
            "file": self._file,
            "source": self._source,
            "answer": self._answer,
            "compare": self._compare,
            "log_line": self._log_line,
            "findings": self._findings,
            "fix": self._fix,
            "fix_all": self._fix_all,
            "verify": self._verify,
            "diff": self._diff,
            "write": self._write,
        }

    def run(self, job: str, arguments: Json, files: Mapping[str, EditedText]) -> bytes:
        """Return the JSON of a job: for the page, or for the server, which needs paths; raises Refused."""
        document = self._jobs[job](arguments, files)
        return json.dumps(document).encode() if job in FOR_SERVER else encoded(document)

    def _files(self, _arguments: Json, files: Mapping[str, EditedText]) -> Json:
        found = self.findings.files(_texts(files))
        left_out = max(len(found["paths"]) - MAX_FILES, 0)
        return {
            "paths": found["paths"][:MAX_FILES],
            "names": found["names"][:MAX_FILES],
            "left_out": left_out,
        }

    def _file(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        path = text_in(arguments, "path")
        data = self._data(path, files)
        edited = files.get(path)
        return {
            **lines_of(data, number_in(arguments, "first", 1)),
            "sections": sections_of(data),
            "is_edited": edited is not None,
        }

    def _source(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        data = self._data(text_in(arguments, "path"), files)
        return {"data": base64.b64encode(data).decode("ascii")}

    def _data(self, path: str, files: Mapping[str, EditedText]) -> bytes:
        edited = files.get(path)
        if edited is not None:
            return edited.text
        assert self.sources.options is not None
        stored = self.sources.options.overlaid(path)
        if stored is not None:
            return stored
        try:
            return read_regular(to_bytes(path), MAX_FILE)
        except OSError as problem:
            raise Refused(f"the file cannot be read: {problem.strerror}", 404) from None

    def _answer(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        edits = _texts(files) if arguments.get("text") != "disk" else {}
        return self.answers.answer(
            _request(arguments),
            edits,
            text_in(arguments, "dialect") or "2.4",
            is_quick=arguments.get("quick") is True,
        )

    def _compare(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        sides = _side(arguments.get("old"), files), _side(arguments.get("new"), files)
        return self.answers.compare(_request(arguments), sides, is_quick=arguments.get("quick") is True)

    def _log_line(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        line = text_in(arguments, "line", 4 << 20)
        if len(line) > MAX_LOG_LINE:
            raise Refused(
                f"the line has {len(line):,} characters; lines of at most {MAX_LOG_LINE:,} are read", 413
            )
        side = self.answers.probe_base(_texts(files), text_in(arguments, "dialect") or "2.4")
        return form_of_log_line(from_page(line), side)

    def _findings(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        path = text_in(arguments, "path")
        found = self.findings.check(_texts(files), _keys(arguments), path)
        return found if path else {**found, "stop": self.answers.stop(_texts(files))}

    def _fix(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        return _as_json(self.findings.fix(_texts(files), _keys(arguments)))

    def _fix_all(self, _arguments: Json, files: Mapping[str, EditedText]) -> Json:
        return _as_json(self.findings.fix_all(_texts(files)))

    def _verify(self, arguments: Json, files: Mapping[str, EditedText]) -> Json:
        return self.findings.verify(_side(arguments.get("old"), files), _side(arguments.get("new"), files))

    def _diff(self, _arguments: Json, files: Mapping[str, EditedText]) -> Json:
        return {"diff": diff_of(files, self.answers.root)}

    def _write(self, _arguments: Json, files: Mapping[str, EditedText]) -> Json:
        backups = write_edits(files, self.sources)
        self.answers.sides.forget()
        self.findings.forget()
        return {"written": len(files), "backups": backups, "root": self.answers.root}


def _texts(files: Mapping[str, EditedText]) -> dict[str, bytes]:
    return {path: edited.text for path, edited in files.items()}


def _keys(arguments: Json) -> tuple[FindingKey, ...]:
    accepted = arguments.get("accepted")
    return tuple(FindingKey(*one) for one in accepted) if isinstance(accepted, list) else ()


def _request(arguments: Json) -> Json:
    request = arguments.get("request")
    if not isinstance(request, dict):
        raise Refused("the request is missing")
    converted: Json = {}
    for name, value in request.items():
        if isinstance(value, str):
            converted[name] = from_page(value)
        elif isinstance(value, list):
            converted[name] = [from_page(str(one)) for one in value]
        else:
            converted[name] = value
    return converted


def _side(wanted: object, files: Mapping[str, EditedText]) -> tuple[dict[str, bytes], str]:
    """Return the texts and the dialect of one side of a comparison; raises Refused."""
    if not isinstance(wanted, dict):
        raise Refused("a side of the comparison is missing")
    edits = _texts(files) if wanted.get("text") != "disk" else {}
    return edits, text_in(wanted, "dialect") or "2.4"


def _as_json(texts: Mapping[str, bytes]) -> Json:
    return {"texts": {path: base64.b64encode(data).decode("ascii") for path, data in texts.items()}}
