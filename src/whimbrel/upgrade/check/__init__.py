"""Running the rules: one check without edits, or repeated passes until no rule has an edit left.

Public: check.{check, check_all, check_tree, Selection, CheckResult}, fixpoint.{upgrade, UpgradeResult, RuleError}.
parallel runs the access-control rules in one process and all others in a second one.
Must not import: apply, cli, report.  Results are values; files on disk stay unchanged.
"""
