"""Method numbers as <Limit> uses them."""

from __future__ import annotations

from whimbrel.registry.methods import INVALID, Methods


def test_head_shares_the_number_of_get_and_names_are_exact() -> None:
    methods = Methods()
    assert methods.number("HEAD") == methods.number("GET") == 0
    assert methods.number("get") == INVALID


def test_a_registered_method_gets_a_bit_of_its_own() -> None:
    methods = Methods()
    first, second = methods.register("FOO"), methods.register("BAR")
    assert len({first, second, INVALID, *range(26)}) == 29
    assert methods.register("FOO") == methods.number("FOO") == first


def test_there_is_room_for_as_many_methods_as_a_mask_of_64_bits_has() -> None:
    methods = Methods()
    numbers = [methods.register(f"M{i}") for i in range(60)]
    assert max(n for n in numbers if n != INVALID) == 62
    assert numbers[-1] == INVALID
