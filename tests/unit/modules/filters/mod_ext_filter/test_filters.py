"""External filters in a request: conditions, fields, framing, failures to start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, decoded_body, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.base.programs import without_programs
from whimbrel.engine.engine import Engine

LOAD = "LoadModule ext_filter_module modules/mod_ext_filter.so\n"
UP = LOAD + 'ExtFilterDefine up cmd="/usr/bin/tr a-z A-Z"\n'
IN = (
    LOAD
    + "LoadModule reflector_module modules/mod_reflector.so\n"
    + "<Location /r>\nSetHandler reflector\nSetInputFilter up\n%s\n</Location>\n"
)
BIG = "abc def\n" * 50_000
FILES = {"htdocs/a.txt": "small words\n", "htdocs/b.html": "<b>x</b>", "htdocs/big.txt": BIG}


def engine(root: Path, conf: str, version: str = "2.4") -> Engine:
    """An engine with the files."""
    return build_engine(root, conf, FILES, version)


def post(served: Engine, body: str, *fields: str) -> Reply:
    """The reflected body."""
    return fetch(served, "/r", *fields, method="POST", body=body)


def test_a_small_response_keeps_its_framing(tmp_path: Path) -> None:
    served = engine(tmp_path, UP + "SetOutputFilter up")
    reply = fetch(served, "/a.txt")
    assert (reply.body, reply.get("Content-Length")) == ("SMALL WORDS\n", "12")
    assert fetch(served, "/a.txt", method="HEAD").get("Content-Length") == "12"
    assert fetch(served, "/a.txt", "Range: bytes=0-3").body == "SMAL"


def test_a_response_beyond_the_bound_is_sent_in_chunks(tmp_path: Path) -> None:
    reply = fetch(engine(tmp_path, UP + "SetOutputFilter up"), "/big.txt")
    assert (decoded_body(reply), reply.get("Content-Length")) == (BIG.upper(), None)


def test_a_preserved_length_is_sent(tmp_path: Path) -> None:
    conf = LOAD + 'ExtFilterDefine up PreservesContentLength cmd="/usr/bin/tr a-z A-Z"\nSetOutputFilter up'
    reply = fetch(engine(tmp_path, conf), "/big.txt")
    assert (reply.body, reply.get("Content-Length")) == (BIG.upper(), str(len(BIG)))


def test_media_types_and_variables(tmp_path: Path) -> None:
    conf = (
        LOAD + "ExtFilterDefine up intype=text/html outtype=text/x enableenv=ON disableenv=OFF "
        'cmd="/usr/bin/rev"\n'
        "SetEnvIf X-On . ON\nSetEnvIf X-Off . OFF\nSetOutputFilter up"
    )
    served = engine(tmp_path, conf)
    reply = fetch(served, "/b.html", "X-On: 1")
    assert (reply.body, reply.get("Content-Type")) == (">b/<x>b<", "text/x")
    assert fetch(served, "/b.html").body == "<b>x</b>"
    assert fetch(served, "/b.html", "X-On: 1", "X-Off: 1").body == "<b>x</b>"
    assert fetch(served, "/a.txt", "X-On: 1").body == "small words\n"


def test_the_program_has_the_variables_of_cgi_and_of_documents(tmp_path: Path) -> None:
    files = {"conf/env.sh": '#!/bin/sh\necho "$REQUEST_METHOD|$DOCUMENT_URI|$QUERY_STRING_UNESCAPED|$1"\n'}
    conf = LOAD + "ExtFilterDefine e cmd=\"@/conf/env.sh 'one two'\"\nSetOutputFilter e"
    served = build_engine(tmp_path, conf, {**FILES, **files})
    (tmp_path / "conf/env.sh").chmod(0o755)
    assert fetch(served, "/a.txt?a%20b;").body == "GET|/a.txt|a b\\;|one two\n"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    conf = LOAD + 'ExtFilterDefine up cmd="/nonexistent/prog"\nSetOutputFilter up\n'
    served = engine(tmp_path / "abort", conf)
    reply = fetch(served, "/a.txt")
    assert (reply.status, reply.get("Content-Length")) == (500, None)
    log = error_log(served)
    assert "(2)No such file or directory: [client 127.0.0.1:50000] AH01458: couldn't create child" in log
    assert "AH01467: can't initialise output filter up: aborting" in log
    served = engine(tmp_path / "remove", f"{conf}<Directory @>\nExtFilterOptions Onfail=remove\n</Directory>")
    assert fetch(served, "/a.txt").body == "small words\n"
    assert "AH01467: can't initialise output filter up: removing" in error_log(served)


def test_standard_error_goes_to_the_error_log_unchanged(tmp_path: Path) -> None:
    conf = LOAD + "ExtFilterDefine e cmd=\"/bin/sh -c 'cat; echo oops >&2'\"\nSetOutputFilter e\n"
    served = engine(tmp_path / "silent", conf)
    assert (fetch(served, "/a.txt").body, error_log(served)) == ("small words\n", "")
    served = engine(tmp_path / "logged", f"{conf}<Directory @>\nExtFilterOptions LogStderr\n</Directory>")
    assert (fetch(served, "/a.txt").body, error_log(served)) == ("small words\n", "oops\n")


def test_the_debugging_message_of_each_version(tmp_path: Path) -> None:
    part = "filtering `/a.txt' of type `text/plain' through `/usr/bin/tr', cfg ExtFilterOptions"
    tail = "NoLogStderr !PreserveContentLength ExtFilterInType */* ExtFilterOuttype (unchanged)"
    served = engine(tmp_path / "24", UP + "LogLevel ext_filter:trace1\nSetOutputFilter up")
    fetch(served, "/a.txt")
    assert f"{part} {tail}" in error_log(served)
    debug = "LogLevel debug\n<Directory @>\nExtFilterOptions DebugLevel=1\n</Directory>\n"
    served = engine(tmp_path / "22", UP + debug + "SetOutputFilter up", "2.2")
    fetch(served, "/a.txt")
    assert f"{part} DebugLevel=1 {tail}" in error_log(served)


def test_two_filters_in_a_chain(tmp_path: Path) -> None:
    conf = UP + 'ExtFilterDefine rev cmd="/usr/bin/rev"\nSetOutputFilter up;rev'
    served = engine(tmp_path, conf)
    assert fetch(served, "/a.txt").body == "SDROW LLAMS\n"
    assert decoded_body(fetch(served, "/big.txt")) == "FED CBA\n" * 50_000


def test_a_name_with_two_definitions(tmp_path: Path) -> None:
    conf = (
        UP + '<VirtualHost *:80>\nServerName other\nExtFilterDefine up cmd="/usr/bin/rev"\n</VirtualHost>\n'
        "<VirtualHost *:80>\nServerName third\n</VirtualHost>\nSetOutputFilter up"
    )
    served = engine(tmp_path, conf)
    assert fetch(served, "http://other/a.txt").body == "sdrow llams\n"
    assert fetch(served, "http://third/a.txt").body == "SMALL WORDS\n"


def test_an_input_filter(tmp_path: Path) -> None:
    served = engine(tmp_path, IN % "" + 'ExtFilterDefine up mode=input cmd="/usr/bin/tr a-z A-Z"\n')
    assert post(served, "some body").body == "SOME BODY"
    assert post(served, "x" * 300_000).status == 200
    assert decoded_body(post(served, "x" * 300_000)) == "X" * 300_000


def test_an_input_filter_looks_at_the_media_type_of_the_request(tmp_path: Path) -> None:
    conf = IN % "" + 'ExtFilterDefine up mode=input intype=text/plain cmd="/usr/bin/tr a-z A-Z"\n'
    served = engine(tmp_path, conf)
    assert post(served, "some body").body == "some body"
    assert post(served, "some body", "Content-Type: text/plain; x=y").body == "SOME BODY"


def test_an_input_filter_that_cannot_be_started(tmp_path: Path) -> None:
    define = 'ExtFilterDefine up mode=input cmd="/nonexistent/prog"\n'
    served = engine(tmp_path / "abort", IN % "" + define)
    assert post(served, "some body").status == 400
    assert "AH01470: can't initialise input filter up: aborting" in error_log(served)
    served = engine(tmp_path / "remove", IN % "ExtFilterOptions Onfail=remove" + define)
    assert post(served, "some body").body == "some body"


def test_httpd_reads_an_absent_body_too(tmp_path: Path) -> None:
    conf = LOAD + 'ExtFilterDefine up mode=input cmd="/nonexistent/prog"\nSetInputFilter up\n'
    assert fetch(engine(tmp_path, conf), "/a.txt").status == 400


def test_a_filter_of_another_virtual_host(tmp_path: Path) -> None:
    conf = (
        LOAD + "<VirtualHost *:80>\nServerName first\nSetOutputFilter up\n</VirtualHost>\n"
        '<VirtualHost *:80>\nServerName other\nExtFilterDefine up cmd="/usr/bin/rev"\n</VirtualHost>\n'
    )
    served = engine(tmp_path, conf)
    assert fetch(served, "/a.txt").status == 500
    assert "AH01459: couldn't find definition of filter 'up'" in error_log(served)


@pytest.mark.parametrize("option", ["DebugLevel=1", "Bogus"])
def test_unknown_options(tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid ExtFilterOptions option: {option}"):
        engine(tmp_path, LOAD + f"<Directory @>\nExtFilterOptions {option}\n</Directory>")


def test_filters_of_failed_subrequests_get_the_end_of_the_stream(tmp_path: Path) -> None:
    conf = (
        f'{LOAD}LoadModule include_module modules/mod_include.so\nExtFilterDefine echo cmd="/bin/echo E"\n'
        "AddType text/plain .ext .shtml\nAddOutputFilter echo .ext\nAddOutputFilter INCLUDES .shtml\n"
        f'<Directory "{tmp_path}/htdocs">\nOptions +Includes\n</Directory>\n'
    )
    page = '[<!--#include virtual="none.ext"-->]'
    served = build_engine(tmp_path, conf, {"htdocs/p.shtml": page})
    body = decoded_body(fetch(served, "/p.shtml"))
    assert body == "[E\n[an error occurred while processing this directive]]"


def test_a_tool_that_runs_no_program_shows_what_is_filtered(tmp_path: Path) -> None:
    """It has no reason to expect that the server fails to start the program."""
    conf = LOAD + 'ExtFilterDefine up outtype=text/x cmd="/usr/bin/tr a-z A-Z"\nSetOutputFilter up'
    served = engine(tmp_path, conf)
    with without_programs():
        reply = fetch(served, "/a.txt")
    assert (reply.status, reply.body, reply.get("Content-Type")) == (200, "small words\n", "text/x")
    assert error_log(served) == ""


def test_a_tool_that_runs_no_program_shows_a_request_body(tmp_path: Path) -> None:
    served = engine(
        tmp_path, IN.replace("%s", "") + 'ExtFilterDefine up mode=input cmd="/usr/bin/tr a-z A-Z"\n'
    )
    with without_programs():
        reply = post(served, "text")
    assert (reply.status, reply.body, error_log(served)) == (200, "text", "")


def test_a_tool_that_runs_no_program_names_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    conf = LOAD + "ExtFilterDefine up cmd=/no/program\nSetOutputFilter up"
    served = engine(tmp_path, conf)
    with without_programs():
        assert fetch(served, "/a.txt").status == 500
    log = error_log(served)
    assert "AH01458: couldn't create child process to run `/no/program'" in log
    assert "(2)No such file or directory: " in log


SMART = UP + "LoadModule filter_module modules/mod_filter.so\n"
PROVIDED = "FilterDeclare {0}\nFilterProvider {0} up true\nFilterChain {0}\n"


@pytest.mark.parametrize(
    ("conf", "name"),
    [("AddOutputFilterByType up text/plain", "BYTYPE:up"), (PROVIDED.format("smart"), "smart")],
)
def test_a_smart_filter_has_no_definition(tmp_path: Path, conf: str, name: str) -> None:
    served = engine(tmp_path, SMART + conf)
    assert fetch(served, "/a.txt").status == 500
    log = error_log(served)
    assert f"AH01459: couldn't find definition of filter '{name}'" in log
    assert f"AH01467: can't initialise output filter {name}: aborting" in log


def test_a_smart_filter_without_definition_is_removed(tmp_path: Path) -> None:
    option = "<Location />\nExtFilterOptions Onfail=remove\n</Location>"
    served = engine(tmp_path, SMART + PROVIDED.format("smart") + option)
    assert fetch(served, "/a.txt").body == FILES["htdocs/a.txt"]
