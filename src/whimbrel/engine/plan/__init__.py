"""Merged configurations with their hooks compiled, cached per combination of layers.

Public: plan.{Plan, PlanCache, CompiledPhase, Locations}.
A plan is built once; a request only reads it.
Must not import: pipeline, output, cache.
"""
