"""Making what a board says comparable: small functions from a text to JSON data."""
