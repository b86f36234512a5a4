"""Modules as data: configuration records and their merge, directives, hook makers, phases, providers.

Public: module.{Module, Hook, CompiledHook, Scope}, phases, settings.{setting, merge, UNSET}, methods.Methods.
A module is a table; nothing registers itself.
Must not import: config, http, engine, modules.
"""
