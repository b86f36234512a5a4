"""ExtFilterDefine: parameters and messages.  Expected messages are those of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import ConfigError
from whimbrel.engine.output.filter import FilterType
from whimbrel.modules.filters.mod_ext_filter.definition import parse_definition


def test_all_parameters() -> None:
    defined = parse_definition(
        "Up mode=INPUT ftype=22 intype=text/plain outtype=text/x-up enableenv=A disableenv=B "
        'preservesContentLength cmd="/bin/sed -e \'s/a b/c/\' \\"x\\""',
        (),
    )
    assert (defined.name, defined.is_input, defined.type) == ("Up", True, 22)
    assert (defined.intype, defined.outtype) == ("text/plain", "text/x-up")
    assert (defined.enable_env, defined.disable_env, defined.preserves_length) == ("A", "B", True)
    assert defined.argv == ("/bin/sed", "-e", "s/a b/c/", '"x"')
    assert defined.command == "/bin/sed"


def test_a_name_is_enough() -> None:
    defined = parse_definition("up", ())
    assert (defined.command, defined.is_input, defined.type) == ("", False, FilterType.RESOURCE)
    assert parse_definition("", ()).name == ""


def test_a_command_without_quotes_is_one_word() -> None:
    assert parse_definition("up cmd=/bin/cat mode=output", ()).argv == ("/bin/cat",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("up cmd=/bin/cat bogus=1", "Unexpected parameter: `bogus=1'"),
        ("up bogus cmd=/bin/cat", "Unexpected parameter: `bogus cmd=/bin/cat'"),
        ("up mode=both cmd=/bin/cat", "Invalid mode: `both'"),
        ("up preservescontentlengths", "mangled argument `preservescontentlengths'"),
        ('up cmd="/bin/cat', "Expected cmd= delimiter"),
        ('up cmd=""', "Invalid cmd= parameter"),
        ("UP cmd=/bin/cat", "ExtFilter UP is already defined"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_definition(text, ("up",) if text.startswith("UP") else ())
    assert str(caught.value).endswith(f": {message}")
