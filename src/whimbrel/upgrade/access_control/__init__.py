"""Access control of a 2.2 configuration, rewritten so that 2.4 decides every request as 2.2 did.

Public: analysis.{analyze_access, AccessAnalysis}, findings.findings_of_rule, advisories, edits.section_edits.
The solver proposes Require lines for each section; access/ decides whether both versions agree.
Must not import: rules, check, apply, edits, files; engine and server.
"""
