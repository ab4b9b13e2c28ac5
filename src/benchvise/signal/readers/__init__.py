"""The formats of captures, one file each: each has ``read(path, options) -> Capture``."""
