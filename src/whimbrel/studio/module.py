"""The configuration of the studio's own server, and the module that answers all its requests.

Nothing of the configuration that is looked at is in it: the server is ours, with one worker on the loopback.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.dialect import V24
from whimbrel.base.numbers import is_digits
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import complete, read_as_its_build
from whimbrel.config.options import LoadOptions
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules import ALL
from whimbrel.modules.core.spec import server_spec
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DONE, HANDLER, HookStatus
from whimbrel.studio.api import API, MAX_BODY, StudioApi, StudioRequest

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

FILE: Final = "/whimbrel-studio.conf"
"""The name of the text, which is on no disk."""
TEXT: Final = """ServerRoot "{directory}"
PidFile "{directory}/pid"
ErrorLog "{directory}/error.log"
DefaultRuntimeDir "{directory}"
Listen 127.0.0.1:{port}
ServerName 127.0.0.1:{port}
ServerTokens Prod
TraceEnable Off
LimitRequestBody {limit}
TimeOut 400
KeepAliveTimeout 15
RequestReadTimeout header=5 body=20
StartServers 1
ServerLimit 1
ThreadsPerChild 400
MaxRequestWorkers 400
DocumentRoot /nonexistent
<Location "/">
    Require local
    SetHandler {handler}
</Location>
"""
_HANDLER: Final = "whimbrel-studio"


def load_server(api: StudioApi, port: int, directory: str) -> Configuration:
    """Return the configuration of the server at *port*; it writes in *directory* alone."""
    text = TEXT.format(directory=directory, port=port, limit=MAX_BODY, handler=_HANDLER)
    if os.getuid() == 0:
        text += "User #65534\nGroup #65534\n"  # the kernel's nobody: the server needs no file of the user
    modules = "unixd authz_core authz_host reqtimeout"
    options = LoadOptions(
        server_root=directory,
        file=FILE,
        before=tuple(f"LoadModule {name}_module modules/mod_{name}.so" for name in modules.split()),
        build="upstream",
        check_roots=False,
        overlay={FILE: text.encode("latin-1")},
    )
    configuration = complete(read_as_its_build(options, ALL, V24, _adder(api)))
    server_spec(configuration)
    return configuration


def _adder(api: StudioApi) -> Callable[[Configuration], None]:
    """Return the function that adds the studio's module to a configuration before it is read."""

    def make(_scope: Scope) -> CompiledHook:
        return CompiledHook(_handler(api), Reads.UNCACHEABLE, is_async=True)

    module = Module(
        name="whimbrel_studio_module",
        source="mod_whimbrel_studio.c",
        hooks=(Hook(HANDLER, make, Order.REALLY_FIRST),),
    )
    return lambda configuration: configuration.modules.add(module)


def _handler(api: StudioApi) -> Callable[[Request], Awaitable[HookStatus]]:
    async def handle(r: Request) -> HookStatus:
        fields = {name.lower(): value for name, value in r.headers_in.items()}
        request = StudioRequest(r.method, r.unparsed_uri.partition("?")[0], fields)
        if r.method == "POST" and request.path.startswith(API) and api.refusal(request) is None:
            length = fields.get("content-length", "")
            size = min(int(length), MAX_BODY) if is_digits(length) else MAX_BODY
            with api.budget.reserve(size) as is_admitted:
                if not is_admitted:
                    return 503
                try:
                    request = request._replace(body=await r.body_in.read_all())
                except BodyError as problem:
                    return problem.status
                response = await api.respond(request)
        else:
            response = await api.respond(request)
        r.status = response.status
        r.content_type = response.media_type
        for name, value in response.fields.items():
            r.err_headers_out.set(name, value)
        r.write(response.body)
        return DONE

    return handle
