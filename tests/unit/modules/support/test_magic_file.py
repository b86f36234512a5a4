"""Rules of magic files: results of 2.4.71 for the same rules and bytes."""

from __future__ import annotations

import pytest

from whimbrel.modules.support.magic_file import Matcher, parse_rules

RULES = """# comment
0\tstring\tAAA\ttext/aaa
0\tstring\tA\\040B\ttext/a-b
0\tstring\tBBB\tfirst/bbb
>3\tstring\tC\t\\b-c
>3\tstring\tD\tenc-d
>>4\tbyte\tx\t\\bx%d
0\tbeshort\t0x4344\tapp/beshort
0\tleshort\t0x4344\tapp/leshort
0\tbelong\t0x45464748\tapp/belong x-enc
0\tbyte&0xf0\t0x70\tmask/p
0\tbyte\t=33\texcl/aim
0\tstring\tII\ti/i
>(0.b-72)\tbyte\t73\t\\b-r
0\tstring\tJJ\tj/%s
0\tbyte\t75\tk/%d
0\tbyte\t77\tm/%c
0\tstring\tL1\tl/1
>(4)\tbyte\t73\t\\b-l
0\tstring\tL2\tl/2
>(4.L+1)\tbyte\t73\t\\b-l
0\tstring\tL3\tl/3
>(4.s-1)\tbyte\t73\t\\b-s
0\tstring\tL4\tl/4
>(4.b)\tbyte\t73\t\\b-b
"""


def said(data: bytes, rules: str = RULES) -> tuple[str | None, list[str]]:
    told: list[str] = []

    def complain(code: str, words: str) -> None:
        told.append(f"{code}: {words}")

    return Matcher(data + b"\n" * 100, complain).says(parse_rules(rules, complain)), told


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (b"AAA", "text/aaa"),
        (b"A B", "text/a-b"),
        (b"BBB", "first/bbb"),
        (b"BBBC", "first/bbb-c"),
        (b"BBBD", "first/bbb enc-dx10"),
        (b"BBBDx", "first/bbb enc-dx120"),
        (b"CD", "app/beshort"),
        (b"DC", "app/leshort"),
        (b"EFGH", "app/belong x-enc"),
        (b"p1", "mask/p"),
        (b"!", "excl/aim"),
        (b"II", "i/i-r"),
        (b"JJ", "j/JJ"),
        (b"K", "k/75"),
        (b"M", "m/M"),
        (b"L1..\x09\0\0\0.I", "l/1-l"),
        (b"L1..\x09\0\0\1.I", "l/1"),  # a long has four bytes
        (b"L2..\x08\0\0\0.I", "l/2-l"),
        (b"L3..\x0a\0\1\1.I", "l/3-s"),
        (b"L3..\x0a\1\0\0.I", "l/3"),
        (b"L4..\x09\1\1\1.I", "l/4-b"),
        (b"\x80", None),
    ],
)
def test_rules(data: bytes, want: str | None) -> None:
    assert said(data) == (want, [])


def test_a_window_of_64_bytes_must_be_there() -> None:
    rules = parse_rules("0\tstring\tGIF8\timage/gif\n", lambda _code, _words: None)
    assert Matcher(b"GIF8".ljust(63), lambda _code, _words: None).says(rules) is None
    assert Matcher(b"GIF8".ljust(64), lambda _code, _words: None).says(rules) == "image/gif"


def test_bad_lines_are_told_and_the_rest_counts() -> None:
    found, told = said(b"AAA", "0\tstring\tZZZ\tz/z\nbad\n0\tstring\tAAA\ta/a\n")
    assert found == "a/a"
    assert told == [
        "AH01521: mod_mime_magic: offset bad invalid",
        "AH01524: mod_mime_magic: type bad invalid",
        "AH01538: mod_mime_magic: invalid type 0 in mconvert().",
    ]


def test_an_indirect_offset_without_its_end_is_told() -> None:
    """mod_mime_magic.c, parse."""
    _, told = said(b"AAA", ">(4\tbyte\t1\tx/y\n")
    assert told[0] == "AH01523: mod_mime_magic: missing ')' in indirect offset"
