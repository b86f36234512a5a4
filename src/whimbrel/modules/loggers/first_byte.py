"""The output filter of LogIOTrackTTFB (mod_logio)."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.output.filter import OutputFilter
from whimbrel.engine.redirect_chain import first_request
from whimbrel.engine.request import Request

FIRST_BYTE_NOTE: Final = "logio-ttfb"


class FirstByte(OutputFilter):
    """Output filter that notes the microseconds from the request to the first byte of the content."""

    name = "LOGIO_TTFB_OUT"

    def begin(self, r: Request) -> None:
        """Note the time and leave the chain."""
        r.set_uncacheable()
        micros = round((r.engine.runtime.now() - r.time) * 1_000_000)
        first_request(r).notes[FIRST_BYTE_NOTE] = str(max(1, micros))


FIRST_BYTE: Final = FirstByte()
