"""The expression language of the files, parsed against a whitelist and evaluated within limits."""
