"""PROXY headers: those that 2.4.71 accepts, and those on which it closes, with the code that it logs."""

from __future__ import annotations

import struct

import pytest

from whimbrel.server.connection.proxy_protocol import SIGNATURE, BadHeader, ProxyHeaderFields, read_header

FOUR = bytes([10, 1, 2, 3, 10, 9, 9, 9]) + struct.pack(">HH", 5555, 80)
SIX = bytes.fromhex("20010db8000000000000000000000001" * 2) + struct.pack(">HH", 5555, 80)


def second(command: int, family: int, data: bytes) -> bytes:
    return SIGNATURE + struct.pack(">BBH", command, family, len(data)) + data


@pytest.mark.parametrize(
    ("data", "address", "port"),
    [
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 5555 80\r\n", "10.1.2.3", 5555),
        (b"PROXY TCP6 2001:db8::1 2001:db8::2 5555 80\r\n", "2001:db8::1", 5555),
        (b"PROXY TCP6 2001:0DB8::1 2001:db8::2 5555 80\r\n", "2001:0DB8::1", 5555),
        (b"PROXY TCP4  10.1.2.3  10.9.9.9 5555  80\r\n", "10.1.2.3", 5555),
        (b"PROXY UNKNOWN ffff f 1 2\r\n", "", 0),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 99999 80\r\n", "10.1.2.3", 34463),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 5555\r\n", "10.1.2.3", 5555),
        (b"PROXY TCP4 10.1.2.3 bad 5555x 80\r\n", "10.1.2.3", 5555),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9\t5555 80\r\n", "10.1.2.3", 80),
        (b"PROXY TCP4 010.1.2 10.9.9.9 \t-1 80\r\n", "8.1.0.2", 65535),
        (b"PROXY TCP6 ::ffff:10.1.2.3 ::2 5555 80\r\n", "::ffff:10.1.2.3", 5555),
        (second(0x21, 0x11, FOUR), "10.1.2.3", 5555),
        (second(0x21, 0x21, bytes(10) + b"\xff\xff" + FOUR[:4] + SIX[16:]), "10.1.2.3", 5555),
        (second(0x21, 0x21, SIX), "2001:db8::1", 5555),
        (second(0x20, 0, b""), "", 0),
        (second(0x20, 0x11, FOUR), "", 0),
        (second(0x21, 0x11, FOUR + b"\x04\0\1x"), "10.1.2.3", 5555),
    ],
)
def test_good_headers_however_they_arrive(data: bytes, address: str, port: int) -> None:
    assert read_header(data + b"GET / HTTP/1.1") == ProxyHeaderFields(len(data), address, port)
    assert all(read_header(data[:size]) is None for size in range(len(data)))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n", ""),
        (second(0x11, 0x11, FOUR), ""),
        (b"PROXY TCP5 10.1.2.3 10.9.9.9 5555 80\r\n", "AH03499"),
        (b"PROXY TCP4 10.1.2.3\r\n", "AH03497"),
        (b"PROXY \r\n", "AH03497"),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9\r\n", "AH03497"),
        (b"PROXY TCP4 0xa.1.2.3 10.9.9.9 5555 80\r\n", "AH03500"),
        (b"PROXY TCP4 10.1.2.3\t 10.9.9.9 5555 80\r\n", "AH03500"),
        (b"PROXY TCP4 localhost 10.9.9.9 5555 80\r\n", "AH03500"),
        (b"PROXY TCP4 ::1 ::2 5555 80\r\n", "AH03500"),
        (b"PROXY TCP6 fe80::1%lo ::2 5555 80\r\n", "AH03500"),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 x 80\r\n", "AH03501"),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 - 80\r\n", "AH03501"),
        (b"PROXY TCP4 10.1.2.256 10.9.9.9 5555 80\r\n", "AH03502"),
        (b"PROXY TCP4 10.1.2.3. 10.9.9.9 5555 80\r\n", "AH03502"),
        (b"PROXY TCP6 10.1.2.3 ::2 5555 80\r\n", "AH03502"),
        (b"PROXY TCP6 12345::1 ::2 5555 80\r\n", "AH03502"),
        (b"PROXY UNKNOWN\r\n", ""),
        (b"PROXY TCP4 10.1.2.3 10.9.9.9 5555 80" + b" " * 100 + b"\r\n", "AH10185"),
        (second(0x22, 0x11, FOUR), "AH03507"),
        (second(0x21, 0x31, b"x" * 216), "AH10183"),
        (second(0x21, 0, b""), "AH10183"),
        (second(0x21, 0x11, FOUR[:6]), "AH10597"),
        (second(0x21, 0x11, FOUR + b"z" * 2000), "AH10186"),
        (b"PROXY " + b"x" * 9000, ""),
    ],
)
def test_bad_headers(data: bytes, code: str) -> None:
    with pytest.raises(BadHeader) as caught:
        read_header(data)
    assert (caught.value.line.code if caught.value.line else "") == code
