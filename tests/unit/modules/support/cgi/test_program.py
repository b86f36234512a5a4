"""Programs of requests: their pipes after a stop."""

from __future__ import annotations

import asyncio
import os

from whimbrel.modules.support.cgi.program import Program

SLEEPER = [b"/bin/sleep", b"10"]


def test_a_wait_that_ends_after_the_stop_leaves_the_number_of_the_pipe_to_its_next_owner() -> None:
    async def run() -> None:
        source, sink = os.pipe()
        program = Program(SLEEPER, {}, None, {}, None)
        handle = program._out
        reader = asyncio.ensure_future(program.read(5.0))
        await asyncio.sleep(0)
        program.stop()
        os.dup2(source, handle)
        arrived = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(handle, arrived.set_result, True)
        reader.cancel()
        await asyncio.wait({reader})
        os.write(sink, b"x")
        assert await asyncio.wait_for(arrived, 2.0)
        asyncio.get_running_loop().remove_reader(handle)
        for number in (source, sink, handle):
            os.close(number)

    asyncio.run(run())
