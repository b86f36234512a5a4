"""mod_cern_meta: response fields from a meta file of the CERN server (``.web/NAME.meta``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.engine.deps.files import is_directory
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.support.setters import set_flag, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("cern_meta")


@dataclass(slots=True)
class CernMetaDirConfig:
    """Per-directory settings."""

    directory: str = setting(".web")
    suffix: str = setting(".meta")
    active: bool = setting(False)


def take_fields(r: Request, data: bytes) -> HookStatus:
    """Copy the fields of a meta file to the response; return 500 for a line without a colon.

    The last line may be empty.  Another empty line ends the reading, and of the lines before it only type and
    status count.
    """
    fields = []
    lines = to_text(data).split("\n")
    for line in lines if lines[-1] else lines[:-1]:
        line = line.removesuffix("\r")
        if not line:
            return OK
        name, colon, value = line.partition(":")
        if not colon:
            _log(r, "error", "AH01560", f"malformed header in meta file: {r.filename}")
            return 500
        value = value.lstrip(" \t\n\v\f\r")
        if name.lower() == "content-type":
            kind, semicolon, parameters = value.rstrip(" \t\n\v\f\r").partition(";")
            r.set_untrusted_type(f"{kind.lower()}{semicolon}{parameters}")
        elif name.lower() == "status":
            r.status = atoi(value)
            r.status_line = value if len(value) > 3 else None
        else:
            fields.append((name, value))
    for name, value in fields:
        r.headers_out.set(name, value)
    return OK


def make_fields(scope: Scope) -> CompiledHook | None:
    """Read the meta file of the requested file, if there is one that the client may request itself."""
    conf = scope.dir_config(CernMetaDirConfig)
    if not conf.active:
        return None

    async def fixup(r: Request) -> HookStatus:
        if r.finfo is None or is_directory(r.finfo) or r.uri.endswith("/"):
            return DECLINED
        directory, _, name = (r.filename or "").rpartition("/")
        path = f"{directory}/{conf.directory}/{name}{conf.suffix}"
        sub = await r.engine.lookup_file(r, path)
        if sub.status != 200:
            return DECLINED
        r.deps.stat(path)
        try:
            data = read_regular(to_bytes(r.deps.on_disk(path)))
        except FileNotFoundError:
            return DECLINED
        except OSError:
            r.set_uncacheable()
            _log(r, "error", "AH01562", f"meta file permissions deny server access: {path}")
            return 403
        return take_fields(r, data)

    return CompiledHook(fixup, Reads.HEAD | Reads.FILES, is_async=True)


MODULE = Module(
    name="cern_meta_module",
    source="mod_cern_meta.c",
    dir_config=CernMetaDirConfig,
    dir_setters={
        "MetaFiles": set_flag("active"),
        "MetaDir": set_text("directory"),
        "MetaSuffix": set_text("suffix"),
    },
    hooks=(Hook(FIXUPS, make_fields, Order.MIDDLE),),
)
