"""Rules of the kernel log, one file a subject."""
