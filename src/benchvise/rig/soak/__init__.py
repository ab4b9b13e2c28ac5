"""Soaks: a board booted many times, how often it fails, and where its cores stand then."""
