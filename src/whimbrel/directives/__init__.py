"""From tree to typed directives: argument shapes, httpd's tokenizer, contexts, AllowOverride.

Public: spec.{Args, Setter, Versions}, context.Context, command.Command, node, shapes.
tokens splits arguments and expands ${NAME} as httpd does.
Must not import: expr, registry, config, modules.
"""
