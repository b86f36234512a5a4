"""Tests of bench/: what it makes of the load generators' output, and of figures; a short run for real."""
