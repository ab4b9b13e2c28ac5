"""What to measure, in which order, and what the numbers mean."""
