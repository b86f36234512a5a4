"""Random changes to bytes, for fuzzing without coverage: the same seed makes the same changes."""

from __future__ import annotations

import random
from collections.abc import Sequence


def mutate(data: bytes, choice: random.Random, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """Apply one to six changes to *data*: insert or append one of *tokens* or *others*, remove, repeat,
    replace or truncate.
    """
    for _ in range(choice.randint(1, 6)):
        at, end = sorted((choice.randint(0, len(data)), choice.randint(0, len(data))))
        end = min(end, at + choice.choice((1, 4, 40)))
        kind = choice.randrange(6)
        if kind == 0:
            data = data[:at] + choice.choice(tokens) + data[at:]
        elif kind == 1:
            data = data[:at] + data[end:]
        elif kind == 2:
            data = data[:end] + data[at:end] * choice.choice((1, 2, 30)) + data[end:]
        elif kind == 3:
            data = data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :]
        elif kind == 4:
            data = data[:at] + choice.choice(tokens) + data[end:]
        else:
            data = data[:at] if choice.random() < 0.2 else data + choice.choice(others)
    return data
