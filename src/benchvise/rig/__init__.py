"""Boards in a rig: power, card, console, network; described by a labgrid environment file."""
