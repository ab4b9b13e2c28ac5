"""Captures in the browser: ``served`` has the open ones, ``timeline`` draws them."""
