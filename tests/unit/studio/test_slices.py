"""Slices of a configuration: the answer of the slice is that of the whole, and lines keep their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.studio.studio_site import HOST, sources_of, write_site

from whimbrel.studio.answers import Answers
from whimbrel.studio.slices import MIN_HOSTS, ConfigSlices, host_blocks, without


def text(number: int, extra: str = "") -> bytes:
    return HOST.replace("@N@", str(number)).replace("    <Loc", f"{extra}    <Loc").encode()


def slices(extra: dict[int, str] | None = None) -> ConfigSlices:
    return ConfigSlices({f"/{n}": text(n, (extra or {}).get(n, "")) for n in range(MIN_HOSTS + 2)})


def test_blocks_are_found_with_their_names() -> None:
    data = b"# x\n<VirtualHost *:80>\nServerName A.b\nServerAlias c d\n</VirtualHost>\n" + text(1)
    first, second = host_blocks(data)
    assert (first.names, first.addresses, first.is_plain) == (frozenset((b"a.b", b"c", b"d")), b"*:80>", True)
    assert data[second.start : second.end] == text(1).rstrip(b"\n")


def test_lines_that_are_left_out_become_blank() -> None:
    data = text(1) + text(2)
    kept = without(data, host_blocks(data)[:1])
    assert kept.count(b"\n") == data.count(b"\n") and kept.endswith(text(2))


def test_the_first_host_of_an_address_and_the_named_one_stay() -> None:
    found = slices().texts_for("H7.example.org:80", {})
    assert sorted(set(range(MIN_HOSTS + 2)) - {int(path[1:]) for path in found}) == [0, 7]


def test_a_host_with_changed_text_stays() -> None:
    found = slices().texts_for("h7.example.org", {"/9": text(9, "    ServerAlias new\n")})
    assert "/9" not in found and "/8" in found


@pytest.mark.parametrize(
    "line",
    [
        "Include more.conf",
        "Define X",
        "LoadModule a b",
        "ServerPath /x",
        "ServerAlias *.example.org",
        "DOSPageCount 2",
        "Use macro",
        "ServerAlias ${NAME}",
    ],
)
def test_a_host_whose_lines_reach_beyond_it_stays(line: str) -> None:
    assert "/9" not in slices({9: f"    {line}\n"}).texts_for("h7.example.org", {})


def test_a_file_with_macros_is_not_cut() -> None:
    assert host_blocks(b"<Macro x>\n" + text(1) + b"</Macro>\n") == []


@pytest.mark.parametrize(
    "host", ["h5.example.org", "h29.example.org", "unknown.example", "H3.EXAMPLE.org:80"]
)
@pytest.mark.parametrize("client", ["10.5.0.1", "192.0.2.1"])
def test_a_slice_answers_as_the_complete(tmp_path: Path, host: str, client: str) -> None:
    write_site(tmp_path, hosts=30)
    options = sources_of(tmp_path).options
    assert options is not None
    answers = Answers(options)
    request: dict[str, object] = {"url": "/closed/", "host": host, "client": client}
    path = f"{tmp_path}/conf/hosts/0005.conf"
    edits = {path: Path(path).read_bytes().replace(b"10.5.", b"192.0.")}
    answers.answer(request, {}, "2.2", is_quick=True)
    quick = answers.answer(request, edits, "2.2", is_quick=True)
    side, is_complete = answers.sides.for_host(edits, "2.2", host)
    assert not is_complete and len(side.loaded.virtual_hosts) <= 3, "a slice has few of the 30 hosts"
    whole = answers.answer(request, edits, "2.2", is_quick=False)
    assert (quick["is_complete"], whole["is_complete"]) == (False, True)
    differing = {name for name in whole if quick[name] != whole[name]}
    assert differing <= {"is_complete", "steps"}
    assert whole["status"] == (404 if host.startswith("h5") and client == "192.0.2.1" else whole["status"])
