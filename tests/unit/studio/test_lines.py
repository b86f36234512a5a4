"""Lines of a file for the page: in parts, with the lines that are not edited there."""

from __future__ import annotations

from whimbrel.studio.lines import MAX_LINE, MAX_LINES, lines_of, sections_of


def test_a_long_file_is_sent_in_parts() -> None:
    data = b"".join(b"Listen %d\n" % number for number in range(5000))
    part = lines_of(data, 3001)
    lines = part["lines"]
    assert isinstance(lines, list)
    assert (part["count"], part["first"], len(lines), lines[0]) == (5000, 3001, MAX_LINES, "Listen 3000")


def test_a_binary_file_is_named_and_not_shown() -> None:
    part = lines_of(b"\x7fELF\0\0", 1)
    assert part["is_binary"] is True and part["lines"] == [] and sections_of(b"\0") == []


def test_long_lines_and_control_characters_are_locked() -> None:
    part = lines_of(b"a\n" + b"x" * (MAX_LINE + 1) + b"\nb\x1b[31m\n" + "c\u202ed\n".encode(), 1)
    assert part["locked"] == [2, 3, 4]
    lines = part["lines"]
    assert isinstance(lines, list) and len(lines[1]) == MAX_LINE


def test_sections_are_a_tree() -> None:
    found = sections_of(b"A 1\n<VirtualHost *:80>\n<Location /a>\n</Location>\n</VirtualHost>\n")
    assert [(one["text"], one["line"]) for one in found] == [("<VirtualHost *:80>", 2)]
    inner = found[0]["sections"]
    assert isinstance(inner, list) and inner[0]["text"] == "<Location /a>"
