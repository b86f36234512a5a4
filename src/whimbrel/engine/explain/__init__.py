"""Decision traces: which phases ran, which hooks decided, which sections applied.

Public: decisions.{RequestTrace, Tracer}, explainer.
A traced engine runs the same phases; tracing costs nothing when it is off.
Must not import: server, cli.
"""
