"""Recorded configurations compared by `whimbrel.verify`: known differences, equivalences and mutations."""
