"""Who may come in: Order, Allow, Deny, Satisfy, Require and what became of them."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.access import (
    c09_allow_override,
    c16_authz_authoritative,
    c17_order_allow_deny,
    c18_dbm_group,
    c19_guide_pairs,
    c20_old_and_new_mixed,
    c21_require_lines_are_alternatives,
    c22_require_replaces,
    c23_require_forms,
    c46_user_checks,
    x08_unknown_require_word,
    x10_quoted_words,
    x12_outer_satisfy_any,
    x13_satisfy_any_log,
    x14_all_granted_overrides,
    x18_local_is_wider,
    x20_limited_access,
    x21_allow_env,
    x22_htaccess_access,
)

RULES: tuple[Rule, ...] = (
    c09_allow_override.RULE,
    c16_authz_authoritative.RULE,
    c17_order_allow_deny.RULE,
    c18_dbm_group.RULE,
    c19_guide_pairs.RULE,
    c20_old_and_new_mixed.RULE,
    c21_require_lines_are_alternatives.RULE,
    c22_require_replaces.RULE,
    c23_require_forms.RULE,
    c46_user_checks.RULE,
    x08_unknown_require_word.RULE,
    x10_quoted_words.RULE,
    x12_outer_satisfy_any.RULE,
    x13_satisfy_any_log.RULE,
    x14_all_granted_overrides.RULE,
    x18_local_is_wider.RULE,
    x20_limited_access.RULE,
    x21_allow_env.RULE,
    x22_htaccess_access.RULE,
)
