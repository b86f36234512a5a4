"""Text of one character per byte is read as C reads it: only `base/numbers.py` uses Python's idioms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.meta.tree import PACKAGE, Source, assert_none, dotted, sources, walk

PACKAGES: Final = ("http", "engine", "server", "modules", "expr")
METHODS: Final = frozenset(
    {
        "isdigit",
        "isdecimal",
        "isnumeric",
        "isalpha",
        "isalnum",
        "isspace",
        "splitlines",
        "upper",
        "casefold",
        "swapcase",
    }
)
WITH_BLANKS: Final = frozenset({"strip", "lstrip", "rstrip", "split", "rsplit"})
# Arguments of int() and float() that are numbers already, or digits whose count a pattern bounds.
NUMBERS: Final = re.compile(
    "|".join(
        (
            r"(?:[\w.]+\.)?(?:time|now|seconds|count|moment|st_mtime|serial|known)(?:\(\))?",  # numbers
            r"phase\.first|is_prefix",  # seconds; a flag
            r"(?:[\w.]+\.)?(?:keep_alive_timeout|timeout|graceful_timeout)",
            r".*\b(?:time|now)\b(?:\(\))? [*/-] .*",
            r"\(?r\.engine\.runtime\.now\(\).*",
            r"'inf'",
            r"rate \* STEP",
            r"first_request\(r\)\.time \* 1e6",
            r"(?:row|worker|t|p|self\.totals)\.get\(.*\)",
            r"s\.now",
            r"level < levels",
            r"found",
            r"max\(0, conf\.graceful_timeout\)",
            r"_QUERY_TIMEOUT",
            r"moment \* 1_000_000",
            r"row\['?\w+'?\]",
            r"moment \* 1000000",
            r"self\.totals\.get.*",
            r"atoi\(.*\)",
            r"core\.\w+",  # results of other calls
            r"(?:Where|Context)\..*",  # bits
        )
    )
)
# Digits whose count a pattern bounds, or that only the administrator writes; by file.
BOUNDED: Final = {
    "http/semantics/dates.py": "two or four digits",
    "http/syntax/url.py": "two hexadecimal digits",
    "modules/support/cgi/script_head.py": "three digits",
    "http/http1/chunked.py": "hexadecimal, bounded by the pattern",
    "http/client/response_reader.py": "three digits",
    "backends/uwsgi.py": "three digits",
    "http/syntax/request_line.py": "one digit",
    "http/semantics/ranges.py": "at most 18 digits",
    "http/syntax/head.py": "a port of at most five digits",
    "modules/support/substitution.py": "one digit",
    "modules/mappers/mod_vhost_alias.py": "one digit",
    "modules/mappers/mod_rewrite/template.py": "one digit",
    "modules/mappers/mod_negotiation/accept.py": "one digit",
    "modules/filters/mod_include/page.py": "one digit",
    "modules/filters/mod_sed/arguments.py": "one digit",
    "modules/filters/mod_sed/regexp.py": "one digit",
    "modules/filters/mod_include/formatting.py": "nine digits",
    "modules/session/mod_session.py": "two hexadecimal digits",
    "expr/functions.py": "two hexadecimal digits",
    "expr/lexer.py": "three octal digits",
    "expr/parser.py": "one digit",
    "base/net.py": "at most 15 characters",
    "modules/metadata/mod_unique_id.py": "an address of the system",
    "modules/support/magic_file.py": "written by the administrator",
    "modules/metadata/mod_mime_magic.py": "eight bytes",
    "modules/metadata/mod_version.py": "nine digits",
    "modules/database/dbd_drivers.py": "written by the administrator; refused at the start",
    "modules/core/log_format.py": "written by the administrator",
    "modules/loggers/mod_log_config/writer.py": "written by the administrator",
    "server/master/systemd.py": "from the service manager",
    "server/master/pidfile.py": "256 bytes",
    "server/master/worker_pool.py": "from the master's own control pipe",
    "modules/mappers/mod_imagemap.py": "a float of C's form",
    "modules/cache/mod_cache/setters.py": "a float, checked",
    "modules/mpm/mpm.py": "a float, checked",
    "modules/generators/mod_status/json_output.py": "a float of the form of the pattern",
    "modules/lua/mod_lua/arguments.py": "a float without fraction",
    "modules/lua/mod_lua/fields.py": "a number already",
    "modules/lua/mod_lua/file_functions.py": "a number already",
    "modules/lua/mod_lua/machine.py": "a number already",
    "modules/lua/mod_lua/server_functions.py": "a number already",
    "modules/md/mod_md/acme_client.py": "nine digits",
    "modules/md/mod_md/domains.py": "a bool",
    "modules/md/mod_md/matching.py": "a bool",
    "modules/md/mod_md/status_page.py": "a number already",
    "modules/md/mod_md/timing.py": "a number already",
    "modules/wsgi/mod_wsgi_process/dispatcher.py": "numbers of the system",
    "modules/wsgi/mod_wsgi_process/request.py": "microseconds, from the worker",
    "modules/wsgi/mod_wsgi_process/response.py": "at most 18 digits",
    "server/master/privileges.py": "written by the administrator",
    "server/worker/scoreboard_text.py": "a number already, of bounded size",
}
WORDS_OF_THE_CODE: Final = frozenset(
    {"server/master/preload.py", "modules/mappers/mod_rewrite/flags.py", "expr/grammar.py", "expr/lexer.py"}
)  # constants
# Names of variables as keys of a table, or of ASCII only: on hot paths.
KEYS: Final = {
    ("modules/filters/mod_include/variables.py", "upper"),
    ("modules/support/cgi/environment.py", "upper"),
}
BYTES: Final = {
    ("modules/examples/mod_case_filter.py", "upper"),
    ("modules/examples/mod_case_filter_in.py", "upper"),
    ("server/connection/dumpio.py", "splitlines"),
    ("server/master/pidfile.py", "strip"),
    ("server/master/pidfile.py", "isdigit"),
    ("server/master/worker_pool.py", "splitlines"),
    ("server/master/worker_pool.py", "strip"),
    ("server/master/worker_pool.py", "isdigit"),
}


def _files() -> Iterator[Source]:
    return (source for package in PACKAGES for source in sources(f"src/whimbrel/{package}"))


def _calls(source: Source) -> Iterator[ast.Call]:
    return (node for node in walk(source.tree) if isinstance(node, ast.Call))


def _constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or isinstance(node, ast.Name) and node.id.isupper()


def _problems(source: Source) -> Iterator[str]:
    name = str(source.path.relative_to(PACKAGE))
    for call in _calls(source):
        if isinstance(call.func, ast.Attribute):
            method, blank = call.func.attr, not call.args or ast.unparse(call.args[0]) == "None"
            if (
                (method in METHODS or (method in WITH_BLANKS and blank))
                and not _constant(call.func.value)
                and (name, method) not in {*BYTES, *KEYS}
                and name not in WORDS_OF_THE_CODE
            ):
                yield f"{name}:{call.lineno}: {ast.unparse(call)}"
        elif isinstance(call.func, ast.Name) and call.func.id in ("int", "float") and call.args:
            if NUMBERS.fullmatch(ast.unparse(call.args[0])) is None and name not in BOUNDED:
                yield f"{name}:{call.lineno}: {ast.unparse(call)}"


def test_only_one_module_reads_numbers_letters_and_blanks() -> None:
    assert_none(problem for source in _files() for problem in _problems(source))


def test_patterns_take_the_blanks_and_digits_of_ascii() -> None:
    r"""Patterns with ``\s``, ``\w`` or ``\b`` over text need re.ASCII.

    In C, 0x85, 0xa0 and letters above 0x7f are no blanks or letters.
    """
    found = []
    for source in _files():
        for call in _calls(source):
            name = dotted(call.func)
            if name not in ("pattern", "compile") and not re.fullmatch(
                r"re\.(compile|search|match|fullmatch|sub|split|findall|finditer)", name
            ):
                continue
            first = call.args[0] if call.args else None
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            if (
                re.search(r"(?<!\\)(?:\\\\)*\\[swbSWB]", text)
                and "ASCII" not in ast.unparse(call)
                and "re.A" not in ast.unparse(call)
            ):
                found.append(f"{source.name}:{call.lineno}: {text}")
    assert found == []
