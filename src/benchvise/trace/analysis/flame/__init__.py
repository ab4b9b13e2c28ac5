"""Flame graphs: stacks of functions, the tree that they make, and how two of these differ.

``stacks`` finds the stacks of a trace; ``frame_names`` names their functions with ``mappings``
(what was mapped where), ``unwound`` follows copies of user stacks. ``graph`` makes the tree and the
profile of them, ``difference`` compares two.
"""
