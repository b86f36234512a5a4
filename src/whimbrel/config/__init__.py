"""From typed directives to merged and compiled configuration: includes, layers, sections, virtual hosts."""
