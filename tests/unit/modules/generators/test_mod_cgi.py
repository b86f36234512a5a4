"""mod_cgi. Expected responses are those of httpd 2.4.71 and 2.2.34 to the same scripts."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from tests.support.client import decoded_body, error_log, fetch
from tests.support.scripts import build_cgi_engine, fetch_script, script


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (r"Status: 418 Teapot\nContent-Type: text/plain\n\nb\n", 418),
        (r"status: 404\n\nx", 404),
        (r"Status: 99 x\n\nx", 500),
        (r"Location: http://other.test/x\n\nb\n", 302),
        (r"Status: 301 Moved\nLocation: http://other.test/\n\nb\n", 301),
        (r"Location: /plain.txt\n\nb\n", 200),
        (r"no colon\n\n", 500),
        ("", 500),
        (r"Content-Type: text/plain\n", 500),
    ],
)
def test_status(words: str, status: int, tmp_path: Path) -> None:
    assert fetch_script(tmp_path, words).status == status


def test_fields(tmp_path: Path) -> None:
    reply = fetch_script(
        tmp_path,
        r"Content-Type: TEXT/a; Charset=X  \nSet-Cookie: a=1\nSet-Cookie: b=2\nX-D: 1\nX-D: 2\n"
        r"Content-Length: 2\n\nabcdef",
    )
    assert reply.get("Content-Type") == "text/a; Charset=X"
    assert reply.all("Set-Cookie") == ["a=1", "b=2"]
    assert reply.get("X-D") == "1, 2"
    assert decoded_body(reply) == "abcdef"


def test_length_of_a_script_counts_in_the_old_version(tmp_path: Path) -> None:
    assert (
        fetch_script(tmp_path, r"Content-Type: text/plain\nContent-Length: 2\n\nab", "2.2").get(
            "Content-Length"
        )
        == "2"
    )


def test_internal_redirect(tmp_path: Path) -> None:
    reply = fetch_script(tmp_path, r"Location: /plain.txt\nX-Lost: 1\nSet-Cookie: a=b\n\nb\n")
    assert (reply.status, reply.body, reply.get("X-Lost"), reply.get("Set-Cookie")) == (
        200,
        "PLAIN\n",
        "1",
        "a=b",
    )


def test_conditions(tmp_path: Path) -> None:
    serving = build_cgi_engine(tmp_path, {"a.cgi": script(r'ETag: "q"\nContent-Type: text/plain\n\nx')})
    assert fetch(serving, "/a.cgi", 'If-None-Match: "q"').status == 304
    assert fetch(serving, "/a.cgi", 'If-Match: "zz"').status == 412
    assert fetch(serving, "/a.cgi", 'If-None-Match: "q"', method="POST").status == 200


def test_bodies_reach_the_script(tmp_path: Path) -> None:
    lines = (
        '#!/bin/sh\nb=$(cat)\nprintf "Content-Type: text/plain\\n\\n%s|%s|%s" '
        '"$CONTENT_LENGTH" "$QUERY_STRING" "$b"\n'
    )
    serving = build_cgi_engine(tmp_path, {"a.cgi": lines})
    assert decoded_body(fetch(serving, "/a.cgi?q=1", method="POST", body="hello")) == "5|q=1|hello"
    assert decoded_body(fetch(serving, "/a.cgi")) == "||"
    assert (
        decoded_body(fetch(serving, "/a.cgi", method="POST", body="x" * 300_000))
        == "300000||" + "x" * 300_000
    )


def test_bodies_beyond_the_limit(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": script(r"Content-Type: text/plain\n\nx")}, "LimitRequestBody 10"
    )
    assert fetch(serving, "/a.cgi", method="POST", body="x" * 11).status == 413
    assert fetch(serving, "/a.cgi", method="POST", body="x" * 10).status == 200


@pytest.mark.parametrize(("version", "lines"), [("2.4", 1), ("2.2", 0)])
def test_a_script_that_does_not_read_its_body(version: str, lines: int, tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path,
        {"a.cgi": "#!/bin/sh\nexec <&-\nprintf 'Content-Type: text/plain\\n\\nx'\n"},
        version=version,
    )
    assert decoded_body(fetch(serving, "/a.cgi", method="POST", body="y" * 300_000)) == "x"
    message = f"AH02651: Error writing request body to script {tmp_path}/htdocs/a.cgi"
    assert error_log(serving).count(message) == lines


def test_large_answers(tmp_path: Path) -> None:
    lines = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nhead -c 300000 /dev/zero | tr '\\0' x\n"
    serving = build_cgi_engine(tmp_path, {"a.cgi": lines})
    reply = fetch(serving, "/a.cgi")
    assert decoded_body(reply) == "x" * 300_000


def test_words_of_the_query_are_arguments(tmp_path: Path) -> None:
    lines = (
        '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n%s:" "$#"\n'
        'for a in "$@"; do printf "[%s]" "$a"; done\n'
    )
    serving = build_cgi_engine(tmp_path, {"a.cgi": lines})
    found = [
        decoded_body(fetch(serving, f"/a.cgi{query}"))
        for query in ("", "?a+b+c", "?a=b+c", "?a%20b+%22q%22", "?a;b", "?")
    ]
    assert found == ["0:", "3:[a][b][c]", "0:", r"2:[a b][\"q\"]", r"1:[a\;b]", "0:"]


def test_nph_scripts_speak_for_themselves(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"nph-a.cgi": script(r"HTTP/1.0 299 Nph\r\nX-Nph: 1\r\n\r\nnph body\n")}
    )
    reply = fetch(serving, "/nph-a.cgi")
    assert (reply.status, reply.headers, reply.body) == (299, [("X-Nph", "1")], "nph body\n")


def test_no_filter_sees_the_output_of_an_nph_script(tmp_path: Path) -> None:
    conf = "LoadModule case_filter_module modules/mod_case_filter.so\nSetOutputFilter CaseFilter\n"
    serving = build_cgi_engine(tmp_path, {"nph-a.cgi": script(r"HTTP/1.0 299 Nph\r\n\r\nnph body\n")}, conf)
    reply = fetch(serving, "/nph-a.cgi")
    assert (reply.status, reply.body) == (299, "nph body\n")


def test_head_has_no_body(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nsleep 0.05\necho x\n"}
    )
    assert fetch(serving, "/a.cgi", method="HEAD").body == ""


@pytest.mark.parametrize("waits", ["", "sleep 0.05"])
def test_output_that_no_filter_reads_has_no_ranges(waits: str, tmp_path: Path) -> None:
    text = f"#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nprintf %0100d 0\n{waits}\n"
    serving = build_cgi_engine(tmp_path, {"a.cgi": text})
    for wanted in ("bytes=0-3", "bytes=900-"):
        reply = fetch(serving, "/a.cgi", f"Range: {wanted}")
        assert (reply.status, decoded_body(reply)) == (200, "0" * 100)


@pytest.mark.parametrize(("size", "expected"), [(10, (206, "bytes 0-3/10")), (100, (200, None))])
def test_deflate_reads_the_output_of_short_responses(
    size: int, expected: tuple[int, str | None], tmp_path: Path
) -> None:
    text = f"#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nprintf %0{size}d 0\n"
    conf = "LoadModule deflate_module modules/mod_deflate.so\nSetOutputFilter DEFLATE\n"
    serving = build_cgi_engine(tmp_path, {"a.cgi": text}, conf)
    reply = fetch(serving, "/a.cgi", "Range: bytes=0-3")
    assert (reply.status, reply.get("Content-Range")) == expected


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (
            "/off/a.cgi",
            403,
            "AH02809: stderr from @/htdocs/off/a.cgi: Options ExecCGI is off in this directory",
        ),
        ("/no.cgi", 404, "AH02811: stderr from @/htdocs/no.cgi: script not found or unable to stat"),
        (
            "/reject.cgi/x",
            404,
            "AH02813: stderr from @/htdocs/reject.cgi: AcceptPathInfo off disallows user's path",
        ),
        ("/dir.cgi/", 403, "AH02812: stderr from @/htdocs/dir.cgi/: attempt to invoke directory as script"),
        (
            "/plain.cgi",
            500,
            "AH01215: stderr from @/htdocs/plain.cgi: (8)Exec format error: "
            "exec of '@/htdocs/plain.cgi' failed",
        ),
        (
            "/lost.cgi",
            500,
            "AH01215: stderr from @/htdocs/lost.cgi: (2)No such file or directory: "
            "exec of '@/htdocs/lost.cgi' failed",
        ),
        ("/fail.cgi", 500, "AH01215: stderr from @/htdocs/fail.cgi: oops"),
        ("/empty.cgi", 500, "End of script output before headers: empty.cgi"),
        ("/begun.cgi", 500, "Premature end of script headers: begun.cgi"),
        ("/partial.cgi", 500, "End of script output before headers: partial.cgi"),
        (
            "/bad.cgi",
            500,
            "malformed header from script 'bad.cgi': Bad header: this is not a header line at a",
        ),
    ],
)
def test_refusals_and_failures(path: str, status: int, code: str, tmp_path: Path) -> None:
    files = {
        "off/a.cgi": script("x"),
        "reject.cgi": script("x"),
        "dir.cgi/x": "",
        "plain.cgi": "echo hi\n",
        "lost.cgi": "#!/no/such\n",
        "fail.cgi": "#!/bin/sh\necho oops >&2\n",
        "empty.cgi": "#!/bin/sh\n",
        "begun.cgi": script(r"Content-Type: text/plain\n"),
        "partial.cgi": script("Content-Type: text/plain"),
        "bad.cgi": script(r"this is not a header line at all\n\n"),
    }
    conf = (
        '<Directory "@/htdocs/off">\nOptions -ExecCGI\n</Directory>\n'
        "<Files reject.cgi>\nAcceptPathInfo Off\n</Files>\n"
    )
    conf += "<Location /dir.cgi>\nSetHandler cgi-script\nDirectoryIndex disabled\n</Location>\n"
    serving = build_cgi_engine(tmp_path, files, conf)
    assert fetch(serving, path).status == status
    assert code.replace("@", str(tmp_path)) in error_log(serving)


def test_words_of_the_old_version(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"bad.cgi": script(r"just text\n"), "fail.cgi": "#!/bin/sh\necho oops >&2\n"}, version="2.2"
    )
    assert (fetch(serving, "/bad.cgi").status, fetch(serving, "/fail.cgi").status) == (500, 500)
    lines = [
        line.partition("] ")[2].partition("] ")[2].partition("] ")[2]
        for line in error_log(serving).splitlines()
    ]
    assert lines == [
        "malformed header from script. Bad header=just text: bad.cgi",
        "oops",
        "Premature end of script headers: fail.cgi",
    ]


def test_a_script_that_takes_too_long(tmp_path: Path) -> None:
    serving = build_cgi_engine(tmp_path, {"a.cgi": "#!/bin/sh\nsleep 5\n"}, "CGIScriptTimeout 100ms")
    assert fetch(serving, "/a.cgi").status == 504
    assert f"AH01220: Timeout waiting for output from CGI script {tmp_path}/htdocs/a.cgi" in error_log(
        serving
    )
    assert "Script timed out before returning headers: a.cgi" in error_log(serving)


def test_script_log(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"bad.cgi": script(r"no header\nmore\n")}, "ScriptLog logs/script.log\nScriptLogBuffer 4"
    )
    fetch(serving, "/bad.cgi?x=1", method="POST", body="abcdef")
    first, *rest = (tmp_path / "logs/script.log").read_text().splitlines()
    assert first.startswith("%% [")
    assert first.endswith("] POST /bad.cgi?x=1 HTTP/1.1")
    assert rest[0] == f"%% 500 {tmp_path}/htdocs/bad.cgi"
    assert rest[1:5] == ["%request", "Host: localhost", "Connection: close", "Content-Length: 6"]
    assert rest[5:] == ["", "abcd", "%response", "no header", "%stdout", "more", ""]


def test_script_log_of_an_unfinished_line(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"bad.cgi": script(r"X-Field: v\nno line end")}, "ScriptLog logs/script.log"
    )
    fetch(serving, "/bad.cgi")
    lines = (tmp_path / "logs/script.log").read_text().splitlines()
    assert lines[lines.index("%response") :] == ["%response", "no line end"]


def test_long_lines_of_standard_error(tmp_path: Path) -> None:
    """A message has at most 8191 bytes; a line end behind as many bytes is a message of its own."""
    text = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n%s >&2\n"
    lines = "{ head -c 8200 /dev/zero; echo; head -c 8191 /dev/zero; echo; } | tr '\\0' e"
    serving = build_cgi_engine(tmp_path, {"a.cgi": text % lines}, "ScriptLog logs/script.log")
    fetch(serving, "/a.cgi")
    logged = (tmp_path / "logs/script.log").read_text().split("%error\n")[1:]
    assert [len(entry.partition("\n")[0]) for entry in logged] == [8191, 9, 8191, 0]


FLOOD = """#!/bin/sh
printf '{head}'
exec head -c 300000000 /dev/zero
"""


@pytest.mark.parametrize(
    ("head", "method", "fields", "status"),
    [
        (r"Content-Type: text/plain\n\n", "HEAD", (), 200),
        (r'ETag: "q"\n\n', "GET", ('If-None-Match: "q"',), 304),
        ("", "GET", (), 500),
        (r"no colon\n", "GET", (), 500),
        (r"Location: /plain.txt\n\n", "GET", (), 200),
        (r"Location: http://a.test/\n\n", "GET", (), 302),
    ],
)
def test_output_that_is_not_sent_is_thrown_away(
    head: str, method: str, fields: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    """Like httpd, the module reads and discards 300 MB; the script log gets the beginning."""
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": FLOOD.format(head=head), "plain.txt": "PLAIN\n"}, "ScriptLog logs/script\n"
    )
    tracemalloc.start()
    try:
        reply = fetch(serving, "/a.cgi", *fields, method=method)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reply.status == status
    assert peak < 4 << 20
    assert not (tmp_path / "logs/script").exists() or (tmp_path / "logs/script").stat().st_size < 70_000


def test_a_not_modified_script_with_a_large_body(tmp_path: Path) -> None:
    """httpd responds when the script has written the whole response."""
    large = "#!/bin/sh\nprintf 'ETag: \"q\"\\n\\n'\nhead -c 300000 /dev/zero\n"
    begin = time.monotonic()
    assert fetch(build_cgi_engine(tmp_path, {"a.cgi": large}), "/a.cgi", 'If-None-Match: "q"').status == 304
    assert time.monotonic() - begin < 10


def test_a_line_without_end(tmp_path: Path) -> None:
    """A line of a head has at most 8190 bytes: httpd 2.4.71 takes a longer one for the end of the output."""
    long = "#!/bin/sh\nhead -c 9000 /dev/zero | tr '\\0' x\nprintf '\\nContent-Type: text/plain\\n\\nx'\n"
    serving = build_cgi_engine(tmp_path, {"a.cgi": long})
    assert fetch(serving, "/a.cgi").status == 500
    assert "End of script output before headers: a.cgi" in error_log(serving)


def test_an_endless_head(tmp_path: Path) -> None:
    serving = build_cgi_engine(tmp_path, {"a.cgi": "#!/bin/sh\nexec yes 'X-Name: value'\n"}, "TimeOut 1\n")
    assert fetch(serving, "/a.cgi").status == 500
    assert "the head of script 'a.cgi' is longer than 131072 bytes" in error_log(serving)


def test_a_timeout_has_httpds_lines(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nx'\nsleep 5\n"}, "TimeOut 1\n"
    )
    assert fetch(serving, "/a.cgi").status == 200
    assert "AH01220: Timeout waiting for output from CGI script" in error_log(serving)
    assert (
        "(70007)The timeout specified has expired: [client 127.0.0.1:50000] AH00574: "
        "ap_content_length_filter: " in error_log(serving)
    )


def test_many_complaints_are_not_remembered(tmp_path: Path) -> None:
    """Each line is logged; the request stores as many as it may repeat."""
    serving = build_cgi_engine(
        tmp_path,
        {"a.cgi": "#!/bin/sh\nyes complaint | head -n 5000 >&2\nprintf 'Content-Type: text/plain\\n\\nx'\n"},
    )
    seen: list[int] = []
    finished = serving.on_response_sent
    serving.on_response_sent = lambda r, *rest: (seen.append(len(r.log_lines)), finished(r, *rest))[1]  # type: ignore[method-assign]
    assert decoded_body(fetch(serving, "/a.cgi")) == "x"
    assert (error_log(serving).count("AH01215"), seen) == (5000, [256])
