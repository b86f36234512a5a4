"""Output of scripts: a flush of the script is one of the body."""

from __future__ import annotations

import asyncio

from whimbrel.modules.lua.mod_lua.output import MAX_AHEAD, ScriptOutput, ScriptSource


def read_all(parts: list[bytes | None]) -> list[bytes]:
    """Return what a source gives for a script that writes *parts*; None flushes."""

    async def use() -> list[bytes]:
        output = ScriptOutput()

        def script() -> None:
            for part in parts:
                if part is None:
                    output.flush()
                else:
                    output.write(part)

        running = asyncio.ensure_future(asyncio.to_thread(script))
        running.add_done_callback(lambda _: output.end())
        began = asyncio.ensure_future(output.began.wait())
        await asyncio.wait((running, began), return_when=asyncio.FIRST_COMPLETED)
        source, out = ScriptSource(output, running.cancel), []
        while (data := await source.read_or_flush()) is not None:
            out.append(data)
        return out

    return asyncio.run(asyncio.wait_for(use(), 20))


def test_a_flush_follows_what_precedes_it() -> None:
    assert read_all([b"one", None, b"two"])[:2] == [b"one", b""]
    assert b"".join(read_all([b"one", None, b"two", None])) == b"onetwo"


def test_output_that_the_client_has_to_take_first_is_no_flush() -> None:
    pieces = read_all([b"x" * (MAX_AHEAD + 1), b"y"])
    assert b"" not in pieces
    assert b"".join(pieces) == b"x" * (MAX_AHEAD + 1) + b"y"
