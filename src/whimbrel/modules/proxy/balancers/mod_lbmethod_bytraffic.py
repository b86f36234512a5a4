"""mod_lbmethod_bytraffic (2.4): the member with the least traffic for its load factor."""

from __future__ import annotations

from whimbrel.modules.proxy.balancers.method import method_module

MODULE = method_module("bytraffic")
