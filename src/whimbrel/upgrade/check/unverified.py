"""Upgrades whose answers are not compared; the engine that answers is not imported for them."""

from __future__ import annotations

from typing import Final

from whimbrel.upgrade.check.fixpoint import NOT_VERIFIED, UpgradeResult
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind

MAX_HOSTS: Final = 500


def has_too_many_hosts(result: UpgradeResult) -> bool:
    """Return True if a comparison with each upgrade would take too long."""
    return sum(1 for _ in result.tree.named("<virtualhost")) > MAX_HOSTS


def too_many_hosts(result: UpgradeResult) -> str:
    """Add to the scope of *result* that it has too many hosts; return the sentence."""
    return not_verified(result, f"more than {MAX_HOSTS} virtual hosts (`whimbrel verify` compares them)")


def not_verified(result: UpgradeResult, why: str, *, matters: bool = True) -> str:
    """Add to the scope of *result* that its answers were not compared; return the sentence. Lines that 2.4
    refuses are findings already."""
    consequence = "the answers of both versions were not compared"
    text = f"{NOT_VERIFIED}{why}"
    item = UnknownItem(UnknownKind.NOT_EXERCISED, None, text, consequence, matters=matters)
    result.scope = result.scope.with_items([item])
    return text
