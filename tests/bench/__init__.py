"""Tests of bench/: parsing of the output of load generators, figures, and one short run."""
