"""Machine profiles: YAML files with a source beside each number, and their reader."""
