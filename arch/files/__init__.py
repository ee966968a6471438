"""Files to data: YAML with places, merge keys, sandboxed templates, several files read as one."""
