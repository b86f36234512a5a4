"""Messages of log programs."""

from __future__ import annotations

import pytest

from whimbrel.server.logs.piped_logs import words


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("/bin/p a b", ["/bin/p", "a", "b"]),
        ("/bin/p 'a b' c", ["/bin/p", "a b", "c"]),
        ('/bin/p "c d"', ["/bin/p", "c d"]),
        ("", [""]),
    ],
)
def test_words_of_a_log_program(command: str, wanted: list[str]) -> None:
    assert words(command) == wanted
