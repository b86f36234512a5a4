"""Reading a 2.2 configuration into a ConfigTree whose statements know their byte positions.

Public: config_tree.{ConfigTree, Statement, SourceFile, Role, ReadError}, reading.{read_config_tree, Sources}.
Also branches (<IfModule>, <IfDefine>, <IfVersion>), .htaccess files, virtual hosts, AllowOverride, suppressions, line map.
Must not import: any other package of upgrade/ (only upgrade.model); nothing that writes files.
"""
