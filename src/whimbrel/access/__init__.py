"""Access decisions of a chain of sections as Boolean functions, compared exactly (binary decision diagrams).

Public: decide.decide, environment.AccessEnvironment, decision.{AccessDecision, AccessVerdict,
Counterexample}, space.Space, layers.{AccessLayer, AccessLine}, chains.{find_chains, SectionChain},
sections.{RequestSection, SectionInventory}. The hooks of both versions are modelled in authentication,
authz22, authz24, order_allow_deny and providers. Code that serves requests does not load it (nor `dd`).
Must not import: upgrade, verify, server, cli.
"""
