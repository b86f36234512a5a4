"""Patterns as automata over bytes: their syntax trees, and the states of a search.

Public: syntax.parse_pattern, automaton.{Alphabet, PatternAutomaton}, classes.
Must not import: upgrade, verify.
"""
