"""Reading a 2.2 configuration into a ConfigTree whose statements know their byte positions.

Public: config_tree.{ConfigTree, Statement, SourceFile, Role}, reading.{read_config_tree, Sources},
queries. Also branches (<IfModule>, <IfDefine>, <IfVersion>), open conditions, .htaccess files, virtual hosts,
AllowOverride, built-in modules, suppressions, line map.
Must not import: any other package of upgrade/ (only upgrade.model); nothing that writes files.
"""
