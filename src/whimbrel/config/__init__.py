"""From directives to merged configuration: includes, layers, sections, .htaccess files, virtual hosts.

Public: load.load, check.check, configuration.Configuration, model.{Layer, Section, Server}, options.
execute runs directives; vhosts selects servers; unimplemented refuses directives without behaviour.
Must not import: http, engine, modules.
"""
