"""Records in shared memory."""

from __future__ import annotations

from mmap import mmap

from whimbrel.modules.support.shared_record import NumberField, RealField, SharedRecord, TextField


class Base(SharedRecord):
    """Two fields."""

    __slots__ = ()
    number = NumberField()
    text = TextField(5)


class Derived(Base):
    """One more."""

    __slots__ = ()
    real = RealField()


def test_fields_have_places_of_their_own() -> None:
    assert (Base.SIZE, Derived.SIZE, Derived.real.offset) == (16, 24, 16)
    assert list(Derived.FIELDS) == ["number", "text", "real"]


def test_values_are_read_where_another_object_wrote_them() -> None:
    memory = mmap(-1, 64)
    one, two = Derived(memory, 24), Derived(memory, 24)
    one.number, one.text, one.real = -3, "ab\xe9", 0.5
    assert two.values() == {"number": -3, "text": "ab\xe9", "real": 0.5}
    assert Derived(memory, 0).values() == {"number": 0, "text": "", "real": 0.0}


def test_texts_are_cut_at_their_size() -> None:
    record = Derived(mmap(-1, 24), 0)
    record.text, record.real = "abcdefgh", 1.0
    assert (record.text, record.real) == ("abcde", 1.0)
