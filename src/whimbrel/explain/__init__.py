"""The way of one request through a configuration: each step with the lines that decided it.

Public: explanation.explain_probe, step.{RequestExplanation, ExplanationStep},
text.{tree, side_by_side}, changes.changed_steps.
The request is answered by the engine itself (engine/explain); this package words what it recorded.
Must not import: replay, report, server, cli, testing.
"""
