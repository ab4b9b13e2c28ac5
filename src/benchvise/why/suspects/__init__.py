"""What differs between two sides, what of it may be the cause, and what is tested first."""
