"""Arguments of sed commands: inserted text, replacements, and the tables of ``y``."""

from __future__ import annotations

_UNENDED = "ending delimiter missing on string: %s"
_SIZES = "transform strings not the same size: %s"


class ArgumentError(Exception):
    """The argument is wrong; the text is httpd's, with %s for the line."""


def inserted_text(written: str) -> str:
    """Return the text of ``a``, ``c``, ``i`` or a file name: without indentation and backslashes."""
    out = []
    at = _indented(written, 0)
    while at < len(written):
        char = written[at]
        if char == "\\":
            at += 1
            char = written[at : at + 1]
        at += 1
        out.append(char)
        if char == "\n":
            at = _indented(written, at)
    return "".join(out)


def _indented(text: str, at: int) -> int:
    while text[at : at + 1] in ("\t", " ") and at < len(text):
        at += 1
    return at


def parse_replacement(line: str, at: int, delimiter: str, groups: int) -> tuple[tuple[str | int, ...], int]:
    """Return the replacement in *line* from *at*, and the position behind its delimiter."""
    parts: list[str | int] = []
    text = ""
    while True:
        char = line[at : at + 1]
        at += 1
        if char == "\\":
            char = line[at : at + 1]
            at += 1
            if "0" <= char <= "9" and int(char) > groups:
                raise ArgumentError("``\\digit'' out of range: %s")
            if "1" <= char <= "9":
                parts += (text, int(char))
                text = ""
            else:
                text += char
        elif not char:
            raise ArgumentError("ending delimiter missing on substitution: %s")
        elif char == delimiter:
            break
        elif char == "&":
            parts += (text, 0)
            text = ""
        else:
            text += char
    parts.append(text)
    return tuple(part for part in parts if part != ""), at


def parse_table(line: str, at: int) -> tuple[str, int]:
    """Return the 256 characters of a table of ``y``, and the position behind its second text.

    A backslash hides the delimiter from the search for the end of the first text only.
    """
    delimiter = line[at : at + 1]
    at += 1
    to = _end_of_first(line, at, delimiter) + 1
    table = ["\0"] * 256
    while (char := line[at : at + 1]) != delimiter:
        at += 1
        if char == "\\" and line[at : at + 1] == "n":
            char = "\n"
            at += 1
        new = line[to : to + 1]
        to += 1
        if new == "\\" and line[to : to + 1] == "n":
            new = "\n"
            to += 1
        table[ord(char)] = new or "\0"
    end = line[to : to + 1]
    if end != delimiter:
        raise ArgumentError(_SIZES if end else _UNENDED)
    return "".join(new if new != "\0" else chr(code) for code, new in enumerate(table)), to + 1


def _end_of_first(line: str, at: int, delimiter: str) -> int:
    while (char := line[at : at + 1]) != delimiter:
        if char in ("", "\n"):
            raise ArgumentError(_UNENDED)
        at += 1 + (char == "\\")
    return at
