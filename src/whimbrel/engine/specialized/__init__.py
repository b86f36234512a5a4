"""Specialized functions: answers for names in a known directory, without the phases.

Public: directories.SpecializedResponses, rules.classifier, templates.
The general path answers the first request of each class of names in a directory. If everything that it read
of the path is declared (`Reads`, `PathRules`), its response becomes the template for all other names of the
class.
Must not import: server, pipeline, modules.
"""
