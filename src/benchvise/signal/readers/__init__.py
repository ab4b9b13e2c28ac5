"""The formats of captures, one file each, which has ``read(path, options) -> Capture``."""
