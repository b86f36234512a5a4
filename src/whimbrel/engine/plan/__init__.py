"""Merged configurations with their hooks compiled, cached per combination of layers.

Public: plan.Plan, plan_cache.PlanCache, compiled_phase.CompiledPhase, locations.Locations.
A plan is built once; a request only reads it.
Must not import: pipeline, output, cache.
"""
