"""Checks of build/config.nice, module files, password files and lock databases, apart from the rules.

Public: config_nice.translate, shared_objects.{examine, examine_directory}, password_file.examine,
davlock.recognize, needed_modules.{needed_modules, missing_module_findings}.
Must not import: rules, check, apply, access_control.
"""
