"""Messages and symptoms of an upgrade."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.messages import c50_start_up_messages, c51_symptoms, c52_log_formats

RULES: tuple[Rule, ...] = (c50_start_up_messages.RULE, c51_symptoms.RULE, c52_log_formats.RULE)
