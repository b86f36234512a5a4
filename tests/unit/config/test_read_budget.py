"""The bound of the text that files, macros and variables make."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError
from whimbrel.config.load import new_configuration, read
from whimbrel.config.options import LoadOptions
from whimbrel.config.read_budget import MAX_TEXT, ReadBudget
from whimbrel.modules import ALL

LOADED = ("mpm_event", "macro")
MODULES = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in LOADED)
MACROS = "<Macro M0>\nKeepAlive On\n</Macro>\n" + "".join(
    f"<Macro M{n}>\n" + f"Use M{n - 1}\n" * 10 + "</Macro>\n" for n in range(1, 30)
)
ARGUMENTS = "<Macro Grow $a>\nServerAdmin " + "$a" * 1000 + "\n</Macro>\n" + f"Use Grow {'x' * 100_000}\n" * 2
DEFINES = "Define D0 0123456789\n" + "".join(
    f"Define D{n} " + f"${{D{n - 1}}}" * 10 + "\n" for n in range(1, 30)
)


@pytest.mark.parametrize("text", [MACROS + "Use M29\n", ARGUMENTS, DEFINES, "Include 0.inc\n"])
def test_bombs_end_with_a_sentence(text: str, tmp_path: Path) -> None:
    for level in range(40):
        (tmp_path / f"{level}.inc").write_text(f"Include {level + 1}.inc\n" * 2)
    (tmp_path / "40.inc").write_text("KeepAlive On\n")
    (tmp_path / "a.conf").write_text(MODULES + text)
    options = LoadOptions(server_root=str(tmp_path), file="a.conf")
    configuration = new_configuration(options, ALL, DIALECTS["2.4"])
    configuration.budget = ReadBudget(4 << 20)
    with pytest.raises(ConfigError, match="Configuration too large|Line too long"):
        read(configuration)


def test_a_large_server_fits() -> None:
    """20,000 virtual hosts of thirty lines of forty bytes, each in a file of its own."""
    budget, host = ReadBudget(MAX_TEXT), (b"x" * 39 + b"\n") * 30
    for _ in range(20_000):
        budget.charge_file(host)
    with pytest.raises(ConfigError):
        budget.charge(MAX_TEXT // 4)  # four fifths are taken
