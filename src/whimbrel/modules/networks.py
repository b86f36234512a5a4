"""Addresses and networks, for access control; see whimbrel.expr.networks, which expressions use too."""

from __future__ import annotations

from whimbrel.expr.networks import INVALID_ADDRESS, INVALID_MASK, InvalidNetwork, Network, Networks, numeric_address, parse_network, parse_written

__all__ = ["INVALID_ADDRESS", "INVALID_MASK", "InvalidNetwork", "Network", "Networks", "numeric_address", "parse_network", "parse_written"]
