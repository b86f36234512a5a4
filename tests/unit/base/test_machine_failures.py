"""Exceptions that the machine causes, and all others."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from whimbrel.base.machine_failures import FAILURES, cause_of, place_of


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (MemoryError(), "(12)Cannot allocate memory"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "name"), "(24)Too many open files"),
        (OSError(errno.ENOSPC, ""), "(28)No space left on device"),
        (RuntimeError("can't start new thread"), "(11)Resource temporarily unavailable"),
        (RuntimeError("other"), ""),
        (FileNotFoundError(errno.ENOENT, ""), ""),
        (ConnectionResetError(errno.ECONNRESET, ""), ""),
        (ValueError("5"), ""),
    ],
)
def test_causes(problem: Exception, cause: str) -> None:
    assert cause_of(problem) == cause
    assert not cause or isinstance(problem, FAILURES)


def test_a_thread_that_cannot_start_is_one_of_the_machine() -> None:
    """The text is CPython's: a stack that no address space holds."""
    before = threading.stack_size(1 << 46)
    try:
        with pytest.raises(RuntimeError) as caught:
            threading.Thread(target=int).start()
    finally:
        threading.stack_size(before)
    assert cause_of(caught.value)


def test_the_place_is_that_of_the_exception() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        os.stat("/none/such")
    name, _, rest = place_of(caught.value).partition(", line ")
    assert name == "test_the_place_is_that_of_the_exception"
    assert rest.endswith(" of test_machine_failures.py")
    assert place_of(ValueError()) == "?"
