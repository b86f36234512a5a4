"""Files and module sets that are checked apart from the rules: build/config.nice, module files, password
files, lock databases.

Public: config_nice.translate, shared_objects.{examine, examine_directory}, password_file.examine,
davlock.recognize, needed_modules.{needed_modules, missing_module_findings}. Must not import: rules, check,
apply, access_control.
"""
