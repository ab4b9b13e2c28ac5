"""A board looked at again and again: what counted up, what happened, and when to raise an alarm."""
