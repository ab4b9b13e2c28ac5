"""Change points of histories beside those of Apache Otava, on the same series.

planted       series of runs with planted shifts, made by the standard library alone
otava_side    what Otava finds, in a process of its own Python, and what it reads of our export
__main__      precision and recall of both, and the positions in Otava's own example
"""
