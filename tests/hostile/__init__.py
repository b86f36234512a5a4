"""Hostile traffic: measures of reliability, each a command (`make hostile`) and, in a short form, a test."""
