"""mod_lbmethod_bybusyness (2.4): the member with the fewest requests in hand.

Manual: mod/mod_lbmethod_bybusyness.html.
"""

from __future__ import annotations

from whimbrel.modules.proxy.balancers.method import method_module

MODULE = method_module("bybusyness")
