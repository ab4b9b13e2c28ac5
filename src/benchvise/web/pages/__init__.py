"""One module a page or a group of pages: each has ``routes``."""
