"""Running the rules: one check without edits, or repeated passes until no rule has an edit left.

Public: check.{check, check_all, judge, batches, parse_selection, Selection, CheckResult, UnknownRule},
fixpoint.{upgrade, UpgradeResult, RuleError}. check_all runs independent parts of the input in several
processes. Results are values; files on disk stay unchanged.
Must not import: apply, cli, report.
"""
