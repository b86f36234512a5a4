"""Coverage of a verification: the lines that differ between two sides, and how each of them was decided.

Public: `Coverage`. Must not import upgrade, replay or report.
"""

from whimbrel.verify.coverage.coverage import Coverage as Coverage
