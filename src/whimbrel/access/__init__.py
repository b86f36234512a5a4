"""Access decisions of a chain of sections as boolean functions, compared exactly (binary decision diagrams).

Public: decide.decide, environment.AccessEnvironment, decision.{AccessDecision, Space, AccessVerdict, Counterexample}, layers.{AccessLayer, AccessLine}.
The hooks of both versions are modelled in authentication, authz22, authz24, order_allow_deny and providers.
Must not import: upgrade, verify, server, cli.  No code that serves requests may import this package (it loads `dd`).
"""
