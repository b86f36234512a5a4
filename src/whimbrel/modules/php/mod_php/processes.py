"""The processes of PHP as a worker uses them: connections, and what PHP says about itself."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from whimbrel.backends.connection import BackendBody, BackendConnection
from whimbrel.backends.fastcgi import END_STDIN, FastcgiReader, begin_request, params
from whimbrel.engine.request import RequestEngine
from whimbrel.modules.php.mod_php.ini_sets import FACTS_SCRIPT, BadSettings, PhpFacts, read_facts, write_file
from whimbrel.modules.php.mod_php.interpreter import NO_SETTINGS, PhpPool
from whimbrel.modules.support.processes.lease import connection_pool
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.processes.program import ProgramClass
from whimbrel.modules.support.processes.table import ProcessRecord

START_TIMEOUT: Final = 30.0  # seconds in which the processes of a set of settings must take a connection
POLL: Final = 0.01  # seconds between two attempts to connect
FACTS_TIMEOUT: Final = 10.0  # seconds in which PHP must list its settings
_MAX_FACTS: Final = 1 << 20  # bytes of that list
_FACTS: Final = "php.facts"  # key of `Engine.worker_state`


async def connect(engine: RequestEngine, manager: ProcessManager, program: ProgramClass) -> BackendConnection:
    """Return a connection to *program*, which is started if need be. Raises TimeoutError."""
    loop = asyncio.get_running_loop()
    until = loop.time() + START_TIMEOUT
    is_requested = 0.0
    connections = connection_pool(engine)
    while (left := until - loop.time()) > 0:
        record: ProcessRecord | None = manager.table.use(program.key)
        if record is not None:
            path = manager.socket_of(record.serial)
            try:
                return await connections.acquire(engine.runtime, path, timeout=left)
            except OSError:
                pass  # the process is about to be replaced, or takes no more connections for now
        elif loop.time() - is_requested > 1.0:
            is_requested = loop.time()
            manager.request_start(program)
        await asyncio.sleep(POLL)
    raise TimeoutError


async def facts(engine: RequestEngine, manager: ProcessManager) -> PhpFacts:
    """Return the properties of the machine's PHP, which its first request in this worker finds out.

    Raises BackendError, BadSettings, TimeoutError or OSError.
    """
    found: PhpFacts | None = engine.worker_state.get(_FACTS)
    if found is None:
        pool: PhpPool = manager.context
        program = pool.program(NO_SETTINGS, manager.directory)
        connection = await connect(engine, manager, program)
        script = script_file(manager, "facts.php", FACTS_SCRIPT)
        found = read_facts(await _output(connection, script))
        if found is None:
            raise BadSettings("PHP does not list its settings")
        engine.worker_state[_FACTS] = found
    return found


def script_file(manager: ProcessManager, name: str, text: bytes) -> str:
    """Return the path of a script of this server with *text*."""
    path = os.path.join(manager.directory, name)
    if not os.path.exists(path):
        write_file(path, text)
    return path


async def _output(connection: BackendConnection, script: str) -> bytes:
    """Return what *script* prints, at most `_MAX_FACTS` bytes. Raises BackendError."""
    reader = FastcgiReader()
    try:
        connection.begin(reader, FACTS_TIMEOUT, keeps_open=False)
        variables = {"REQUEST_METHOD": "GET", "SCRIPT_FILENAME": script, "SCRIPT_NAME": "/facts.php"}
        connection.write(begin_request() + params(variables.items())[0] + END_STDIN)
        while reader.head is None:
            if connection.failure is not None:
                raise connection.failure
            await connection.changed()
        body = BackendBody(connection)
        printed = bytearray()
        while len(printed) < _MAX_FACTS and (data := await body.read()) is not None:
            printed += data
        return bytes(printed)
    finally:
        connection.finish()
