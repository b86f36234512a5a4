"""The ports of `whimbrel serve`."""

from __future__ import annotations

import pytest

from whimbrel.cli.serve import ports_of
from whimbrel.utilities.usage_error import UsageError


def test_ports() -> None:
    assert ports_of(["80=8080", "443=8443", "80=8080"]) == {80: 8080, 443: 8443}


@pytest.mark.parametrize("word", ["80", "80=", "=80", "80=0", "80=65536", "a=b", "80=8080=1"])
def test_no_ports(word: str) -> None:
    with pytest.raises(UsageError, match=f"--port {word}: not OLD=NEW"):
        ports_of([word])


def test_two_replacements_of_one_port() -> None:
    with pytest.raises(UsageError, match="port 80 has two replacements"):
        ports_of(["80=8080", "80=8081"])
