"""Lines of the error log, in the forms of 2.4.71 and 2.2.34."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.log.error_log_line import LogContext, LogLine, enabled, error_line

FACTS = LogContext(now=0.5, pid=7, tid=8, client="127.0.0.1", port=1234)
LINE = LogLine(
    "error",
    "Could not open password file: f",
    "AH01620",
    "authn_file",
    "(2)No such file or directory",
    "mod_authn_file.c(77)",
)


def shown(line: LogLine, facts: LogContext = FACTS, *, new: bool = True) -> str:
    return error_line(line, facts, new=new).decode("latin-1").partition("] ")[2]


def test_the_cause_stands_before_the_client() -> None:
    want = (
        "[authn_file:error] [pid 7:tid 8] (2)No such file or directory: [client 127.0.0.1:1234] "
        "AH01620: Could not open password file: f\n"
    )
    assert shown(LINE) == want


def test_the_source_is_shown_from_debug_on() -> None:
    line = LogLine("debug", "granted", "AH01626", "authz_core", "", "mod_authz_core.c(815)")
    assert shown(line) == (
        "[authz_core:debug] [pid 7:tid 8] mod_authz_core.c(815): [client 127.0.0.1:1234] AH01626: granted\n"
    )


def test_in_22_the_cause_stands_after_the_client() -> None:
    line = replace(LINE, code="")
    assert (
        shown(line, new=False)
        == "[error] [client 127.0.0.1] (2)No such file or directory: Could not open password file: f\n"
    )


def test_control_characters_and_the_referer_are_escaped() -> None:
    facts = replace(FACTS, client="", referer="http://r/\n")
    assert (
        shown(LogLine("warn", 'a\x07"\\'), facts)
        == '[core:warn] [pid 7:tid 8] a\\x07"\\\\, referer: http://r/\\n\n'
    )


def test_a_level_of_a_module_counts_before_the_general_one() -> None:
    assert enabled({"": 3, "rewrite": 9}, "rewrite", "trace2")
    assert not enabled({"": 3, "rewrite": 9}, "core", "warn")


def test_a_stream_of_http2_has_a_remote_end() -> None:
    """httpd gives each stream a connection that it has opened itself."""
    want = "[core:info] [pid 7:tid 8] [remote 127.0.0.1:1234] AH1: x\n"
    assert shown(LogLine("info", "x", "AH1"), replace(FACTS, peer="remote")) == want


def test_lines_end_after_8190_bytes() -> None:
    line = error_line(LogLine("info", "x" * 9000), FACTS, new=True)
    assert len(line) == 8191
    assert line.endswith(b"x\n")
