"""Frames and HPACK: the h2 package's connection, told to leave to us what httpd treats as an error of one stream only.

Whoever imports this needs the package; nothing else here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event
from h2.settings import SettingCodes, Settings
from h2.stream import StreamClosedBy
from hpack import Decoder

MAX_FIELDS = 256 * 1024   # bytes of one block of fields, unpacked
WINDOW = (1 << 31) - 1


MAX_KNOWN = 128           # blocks of fields that are remembered


def _mark(coder: Any) -> tuple[Any, int, int]:
    """What changes whenever the dynamic table of *coder* does: its newest entry, its number of entries and its size."""
    entries = coder.header_table.dynamic_entries
    return (entries[0] if entries else None), len(entries), coder.header_table.maxsize


def _same(one: tuple[Any, int, int], other: tuple[Any, int, int]) -> bool:
    return one[0] is other[0] and one[1:] == other[1:]


class Remembering(Decoder):
    """HPACK's decoder; blocks that leave its table as it is are read once, as long as it stays so (clients repeat them with every request)."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[bytes, list[Any]] = {}
        self.given: list[Any] | Exception | None = None  # what the next block is known to be, since it was read already

    def decode(self, data: bytes, raw: bool = False) -> list[Any]:
        given, self.given = self.given, None
        if isinstance(given, Exception):
            raise given
        if given is not None:
            return given
        block = bytes(data)
        found = self.known.get(block) if raw else None
        if found is not None:
            return found
        before = _mark(self)
        fields = list(super().decode(block, raw))
        if not _same(before, _mark(self)) or len(self.known) >= MAX_KNOWN:
            self.known.clear()
        elif raw:
            self.known[block] = fields
        return fields


class Wire(H2Connection):
    """The server's side of one connection.

    Fields are bytes and come as they were sent: `http2.read_request` judges them.  How many streams there may be and whether a body has its length is
    decided by the caller, since a violation ends the stream and not the connection.  A client's GOAWAY lets the streams that run go on.
    """

    MAX_CLOSED_STREAMS = 1024  # remembered ends, for frames that come too late; 65,536, the package's own number, take megabytes a connection

    def __init__(self, max_streams: int, window: int) -> None:
        super().__init__(H2Configuration(
            client_side=False, header_encoding=False, validate_inbound_headers=False, normalize_inbound_headers=False,
            validate_outbound_headers=False, normalize_outbound_headers=False))
        self.local_settings = Settings(client=False, initial_values={
            SettingCodes.MAX_CONCURRENT_STREAMS: max_streams, SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.known = Remembering()
        self.decoder = self.known
        self.decoder.max_header_list_size = MAX_FIELDS
        self._blocks: dict[int, tuple[Any, bytes, bytes]] = {}
        self._encoded: dict[tuple[tuple[bytes, bytes], ...], bytes] = {}
        self._written = _mark(self.encoder)

    def begin(self) -> None:
        """Send the settings and open the connection's own window: streams have theirs."""
        self.initiate_connection()
        self.begin_window()

    def begin_window(self) -> None:
        """Open the connection's window as far as it goes."""
        self.increment_flow_control_window(WINDOW - 65535)

    @property
    def open_inbound_streams(self) -> int:
        """None, for the package's own limit; asking it also forgets the streams that have ended."""
        super().open_inbound_streams  # noqa: B018
        return 0

    def _begin_new_stream(self, stream_id: int, allowed_ids: Any) -> Any:
        stream = super()._begin_new_stream(stream_id, allowed_ids)
        stream._initialize_content_length = _leave  # type: ignore[assignment,method-assign]
        return stream

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Event]]:
        event = ConnectionTerminated()
        event.error_code, event.last_stream_id, event.additional_data = frame.error_code, frame.last_stream_id, None
        return [], [event]

    # the short way: requests without a body that are answered before anything else happens ------------------------------------------------------
    @property
    def clear(self) -> bool:
        """Whether the next byte begins a frame."""
        buffer = self.incoming_buffer
        return not buffer._preamble_len and not buffer._data and not buffer._headers_buffer

    def room(self, size: int) -> bool:
        """Whether *size* bytes fit into one frame on a stream that is new."""
        return size <= min(self.outbound_flow_control_window, self.remote_settings.initial_window_size, self.max_outbound_frame_size)

    def read(self, number: int, data: bytes, at: int, end: int) -> list[Any] | None:
        """The fields of the HEADERS frame in *data* from *at* to *end*, which begins the stream *number* and is all of its request.

        None for a frame that has to go the whole way.  Call `adopt` or `answer` next.
        """
        flags = data[at + 4]
        start = at + (14 if flags & 0x20 else 9)
        if number <= self.highest_inbound_stream_id or not number & 1 or data[at + 5] & 0x80 or start > end or (
                flags & 0x20 and int.from_bytes(data[at + 9:at + 13]) & 0x7FFFFFFF == number):
            return None
        known = self.known.known.get(data[start:end])
        if known is not None or end - at - 9 > self.max_inbound_frame_size:
            return known
        try:
            return self.known.decode(data[start:end], raw=True)
        except Exception as problem:
            self.known.given = problem
            return None

    def adopt(self, frame: bytes, fields: list[Any]) -> list[Event]:
        """Let a request that was read with `read` be a stream of the package's after all: the events of its *frame*."""
        self.known.given = fields
        return self.receive_data(frame)

    def answer(self, stream: int, block: bytes, body: bytes) -> bytes:
        """The frames of a whole answer on a new stream, which is over with it; *block* is of `block`.

        Call `room` before, and nothing else with this stream.
        """
        self.highest_inbound_stream_id = stream
        self._closed_streams[stream] = StreamClosedBy.SEND_END_STREAM
        self.outbound_flow_control_window -= len(body)
        number = stream.to_bytes(4)
        if not body:
            return b"%b\x01\x05%b%b" % (len(block).to_bytes(3), number, block)
        return b"%b\x01\x04%b%b%b\0\x01%b%b" % (len(block).to_bytes(3), number, block, len(body).to_bytes(3), number, body)

    def block_of(self, owner: Any, date: bytes, fields: Callable[[], Sequence[tuple[bytes, bytes]]]) -> bytes:
        """`block` of *fields*, which are always the same for one *owner* and *date*."""
        known = self._blocks.get(id(owner))
        if known is not None and known[0] is owner and known[1] == date and _same(self._written, _mark(self.encoder)):
            return known[2]
        block = self.block(fields())
        if self._encoded:
            self._blocks[id(owner)] = (owner, date, block)
        return block

    def block(self, fields: Sequence[tuple[bytes, bytes]]) -> bytes:
        """The fields of an answer as HPACK writes them at this moment; what leaves its table as it is is remembered as long as that stays so."""
        before, key = _mark(self.encoder), tuple(fields)
        if not _same(self._written, before) or len(self._encoded) >= MAX_KNOWN:
            self._forget()
        known = self._encoded.get(key)
        if known is not None:
            return known
        block = bytes(self.encoder.encode(fields))
        self._written = _mark(self.encoder)
        if _same(before, self._written):
            self._encoded[key] = block
        else:
            self._forget()
        return block

    def _forget(self) -> None:
        self._blocks.clear()
        self._encoded.clear()

    @property
    def client_takes_push(self) -> bool:
        """Whether the client allows pushes."""
        return bool(self.remote_settings.enable_push)


def _leave(_fields: Iterable[Any]) -> None:
    """Content-Length is compared with what comes by the caller."""
