"""Frames and HPACK: the h2 package's connection, told to leave to us what httpd treats as an error of one stream only.

Whoever imports this needs the package; nothing else here does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event
from h2.settings import SettingCodes, Settings

MAX_FIELDS = 256 * 1024   # bytes of one block of fields, unpacked
WINDOW = (1 << 31) - 1


class Wire(H2Connection):
    """The server's side of one connection.

    Fields are bytes and come as they were sent: `http2.read_request` judges them.  How many streams there may be and whether a body has its length is
    decided by the caller, since a violation ends the stream and not the connection.  A client's GOAWAY lets the streams that run go on.
    """

    def __init__(self, max_streams: int, window: int) -> None:
        super().__init__(H2Configuration(
            client_side=False, header_encoding=False, validate_inbound_headers=False, normalize_inbound_headers=False,
            validate_outbound_headers=False, normalize_outbound_headers=False))
        self.local_settings = Settings(client=False, initial_values={
            SettingCodes.MAX_CONCURRENT_STREAMS: max_streams, SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.decoder.max_header_list_size = MAX_FIELDS

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

    @property
    def client_takes_push(self) -> bool:
        """Whether the client allows pushes."""
        return bool(self.remote_settings.enable_push)


def _leave(_fields: Iterable[Any]) -> None:
    """Content-Length is compared with what comes by the caller."""
