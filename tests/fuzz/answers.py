"""The outcome of readers of back ends' answers, for any split of the input."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.push import same_for_all_splits
from whimbrel.http.client.answer import AnswerReader, BackendError


def check_reader(make: Callable[[], AnswerReader], data: bytes) -> None:
    """Read *data* with readers of *make*: BackendError alone, and the same outcome for any split."""

    def outcome(pieces: list[bytes]) -> tuple[object, ...]:
        reader = make()
        body = b""
        fault: tuple[object, ...] | None = None
        try:
            for piece in pieces:
                reader.feed(piece)
                body += reader.take()
            reader.eof()
        except BackendError as problem:
            fault = problem.status, problem.reasons, problem.detail
        body += reader.take()
        heads = reader.head, reader.interim
        return (
            fault,
            heads,
            body,
            reader.done,
            reader.reusable,
            reader.rest,
            reader.wanted,
            "".join(reader.errors),
        )

    same_for_all_splits(outcome, data)
