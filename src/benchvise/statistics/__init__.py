"""Small, exact, explainable statistics of few or many values.

Every function takes one-dimensional sequences of finite floats in any one unit and raises
``ValueError`` when they are empty, not one-dimensional or not finite. Functions of two samples
speak of ``x`` relative to ``y``: a positive result means that ``x`` is larger.

Intervals and tests of ratios want the logarithms of the values; functions that take logarithms
themselves say so.

Written without NumPy, which is larger than all else that a core installation brings and takes
longer to load than the few values of a run take to be summarised. Arrays are taken all the same;
what is done once for each value of a long one is left to ``benchvise.long_arrays``.

``sample`` is what all take and answer with, ``quantiles`` are medians and percentiles of one
sample, ``series_shape`` its modes and its trend, ``ranks`` tests and estimates of pairs and of two
samples by order, ``means`` intervals of means, ``permutation`` tests that count the ways in which
chance arranges values. Import from these: no command needs all of them.
"""
