"""Hooks, records and providers of httpd's modules, as server-info lists them.

`server_info.tsv`, of 2.4.71: module, kind, name, value, after, before.

* ``records``: five digits, 1 where the module has the function of `RECORDS`; the last one, where it has a
  table of directives;
* ``hook``: the hook's name, its order, and the modules before and behind which it is placed;
* ``provider``: the group, its version, and the names.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field

RECORDS: Final = (
    "Create Directory Config",
    "Merge Directory Configs",
    "Create Server Config",
    "Merge Server Configs",
)
_STARTUP: Final = (
    ("Pre-Config", "pre_config"),
    ("Check Configuration", "check_config"),
    ("Test Configuration", "test_config"),
    ("Post Configuration", "post_config"),
    ("Open Logs", "open_logs"),
    ("Pre-MPM", "pre_mpm"),
    ("MPM", "mpm"),
    ("Drop Privileges", "drop_privileges"),
    ("Retrieve Optional Functions", "optional_fn_retrieve"),
    ("Child Init", "child_init"),
)
REQUEST: Final = (
    ("Pre-Connection", "pre_connection"),
    ("Create Connection", "create_connection"),
    ("Process Connection", "process_connection"),
    ("Create Request", "create_request"),
    ("Pre-Read Request", "pre_read_request"),
    ("Post-Read Request", "post_read_request"),
    ("Header Parse", "header_parser"),
    ("HTTP Scheme", "http_scheme"),
    ("Default Port", "default_port"),
    ("Quick Handler", "quick_handler"),
    ("Pre-Translate Name", "pre_translate_name"),
    ("Translate Name", "translate_name"),
    ("Map to Storage", "map_to_storage"),
    ("Check Access", "access_checker_ex"),
    ("Check Access (legacy)", "access_checker"),
    ("Verify User ID", "check_user_id"),
    ("Note Authentication Failure", "note_auth_failure"),
    ("Verify User Access", "auth_checker"),
    ("Check Type", "type_checker"),
    ("Fixups", "fixups"),
    ("Insert Filters", "insert_filter"),
    ("Content Handlers", "handler"),
    ("Transaction Logging", "log_transaction"),
    ("Insert Errors", "insert_error_filter"),
    ("Generate Log ID", "generate_log_id"),
)
_OTHER: Final = (
    ("Monitor", "monitor"),
    ("Child Status", "child_status"),
    ("End Generation", "end_generation"),
    ("Error Logging", "error_log"),
    ("Query MPM Attributes", "mpm_query"),
    ("Query MPM Name", "mpm_get_name"),
    ("Register Timed Callback", "mpm_register_timed_callback"),
    ("Extend Expression Parser", "expr_lookup"),
    ("Set Management Items", "get_mgmt_items"),
)
SECTIONS: Final = (
    ("startup_hooks", "Startup Hooks", _STARTUP),
    ("request_hooks", "Request Hooks", REQUEST),
    ("other_hooks", "Other Hooks", _OTHER),
)


@dataclass(slots=True)
class HookedFunction:
    """One function that a module has hooked."""

    hook: str
    module: str
    order: int
    after: tuple[str, ...]
    before: tuple[str, ...]


@dataclass(slots=True)
class ServerInfoEntry:
    """What httpd's module structure and its hooks contain.

    Attributes:
        records: the functions for configuration records, as `RECORDS` names them
        has_directives: the module has a table of directives, which may be empty
        providers: (group, version, names)
    """

    records: tuple[str, ...] = ()
    has_directives: bool = False
    hooks: list[HookedFunction] = field(default_factory=list)
    providers: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)


@cache
def table() -> dict[str, ServerInfoEntry]:
    """Return the entries by source file."""
    entries: dict[str, ServerInfoEntry] = {}
    with open(os.path.join(os.path.dirname(__file__), "server_info.tsv"), encoding="utf-8") as file:
        for line in file.read().split("\n")[1:-1]:
            module, kind, name, value, after, before = line.split("\t")
            entry = entries.setdefault(module, ServerInfoEntry())
            if kind == "records":
                digits = zip(RECORDS, value, strict=False)
                entry.records = tuple(record for record, digit in digits if digit == "1")
                entry.has_directives = value[-1] == "1"
            elif kind == "hook":
                places = tuple(after.split()), tuple(before.split())
                entry.hooks.append(HookedFunction(name, module, int(value), *places))
            else:
                entry.providers.append((name, value, tuple(after.split())))
    return entries


def hooked(hook: str, modules: Iterable[str]) -> list[HookedFunction]:
    """Return the functions of one hook in the order in which they run; *modules* in the order of loading.

    As apr_hook_sort_all does: by order, equal ones by loading; an entry follows the modules that it names.
    """
    entries = [e for m in modules if m in table() for e in table()[m].hooks if e.hook == hook]
    entries.sort(key=lambda e: e.order)
    first: dict[str, int] = {}
    for at, entry in enumerate(entries):
        first.setdefault(entry.module, at)
    waits_for: list[list[int]] = [[first[m] for m in e.after if m in first] for e in entries]
    for at, entry in enumerate(entries):
        for module in entry.before:
            if module in first:
                waits_for[first[module]].append(at)
    return [entries[at] for at in _sorted(waits_for)]


def _sorted(waits_for: Sequence[Sequence[int]]) -> list[int]:
    """Return all indexes, each behind those that it waits for, otherwise ascending."""
    done: list[int] = []
    for start in range(len(waits_for)):
        waiting = [start]
        while waiting:
            at = waiting[-1]
            if at in done:
                waiting.pop()
                continue
            open_ones = [other for other in waits_for[at] if other not in done and other not in waiting]
            if open_ones:
                waiting.append(open_ones[0])
            else:
                done.append(waiting.pop())
    return done


def providers(modules: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Return the names of the providers of *modules* by group and version."""
    groups: dict[tuple[str, str], set[str]] = {}
    for module in modules:
        for group, version, names in table()[module].providers if module in table() else ():
            groups.setdefault((group, version), set()).update(names)
    return groups
