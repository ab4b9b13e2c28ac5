"""The command line: parses words, calls one flow, prints its result. No logic."""
