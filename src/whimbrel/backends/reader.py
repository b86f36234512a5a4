"""The interface that connections to back ends know: one reader per request, whatever the protocol."""

from __future__ import annotations

from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage, MessageScope, ResponseHead

__all__ = ["AnswerReader", "BackendError", "BackendMessage", "ResponseHead", "MessageScope"]
