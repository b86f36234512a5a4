"""The If field.  Expected errors are recorded ones of httpd 2.4.71; forms are those of RFC 4918, 10.4."""

from __future__ import annotations

import pytest

from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.if_header import Condition, ConditionList, StateKind, parse
from whimbrel.modules.dav.mod_dav.locks import parse_token

TOKEN = "181d4fae-7d8c-11d0-a765-00a0c91e6bf2"
LOCK = Condition(StateKind.TOKEN, TOKEN)


def test_untagged_lists_are_about_the_request() -> None:
    found = parse(f'(<opaquelocktoken:{TOKEN.upper()}> ["I am an ETag"]) (["another"])', parse_token)
    assert found == (
        ConditionList(None, (Condition(StateKind.ETAG, '"another"'),)),
        ConditionList(None, (Condition(StateKind.ETAG, '"I am an ETag"'), LOCK)),
    )


def test_tagged_lists_have_the_path_of_their_url() -> None:
    found = parse(f"<http://www.example.com/a%20b/../c/> (<opaquelocktoken:{TOKEN}>)", parse_token)
    assert found == (ConditionList("/c", (LOCK,)),)


def test_other_state_tokens_are_unknown() -> None:
    found = parse("(Not <DAV:no-lock>)", parse_token)
    assert found == (ConditionList(None, (Condition(StateKind.UNKNOWN, "DAV:no-lock", True),)),)


@pytest.mark.parametrize(
    ("value", "text", "number"),
    [
        ("junk", "Invalid \"If:\" header: Unexpected character encountered (0x6a, 'j').", 102),
        ("(", 'Invalid If-header: unclosed "(".', 105),
        ("<", 'Invalid If-header: unclosed "<" or unexpected tagged-list production.', 104),
        ("() <x>", 'Invalid If-header: unclosed "<" or unexpected tagged-list production.', 104),
        ("(Not Not <x>)", 'Invalid "If:" header: Multiple "not" entries for the same state.', 101),
        ("<http://h> ()", "Invalid URI in tagged If-header.", 104),
        ("<a> (<c>)", "Invalid URI path tagged If-header.", 104),
        ("</%zz> ()", "Invalid percent encoded URI in tagged If-header.", 104),
        (
            "(<opaquelocktoken:x>)",
            "The opaquelocktoken has an incorrect format and could not be parsed.",
            404,
        ),
    ],
)
def test_malformed_fields(value: str, text: str, number: int) -> None:
    with pytest.raises(DavError) as caught:
        parse(value, parse_token)
    assert (caught.value.status, caught.value.description, caught.value.error_id) == (400, text, number)
