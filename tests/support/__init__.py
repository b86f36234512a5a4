"""Helpers that tests of several packages share: engines, sites, clients, fakes.

Test modules import these and never each other. A helper of one package alone stands beside its tests.
"""
