"""What to measure, in which order, and what the numbers mean.

    suite ─→ plan                   what will be measured, in which order: data
    registry                        the benchmarks, as the probe and ``hostside`` describe them
    runner ─→ events                batches, one at a time, paced by who takes the events
    validity                        one series: median, interval, stable or why not
    metrics                         what a series tells beside its value: percentiles, counters
    compare                         two series: ratio, interval, verdict
    versus                          commands timed in turn and compared, without a plan or a store
    insights                        one run: what its series show together

The lines of a series come from a *source*: the probe, told to go on batch by batch, or a benchmark
that this machine drives (``hostside``, one file each), a generator of the same messages. Network
benchmarks get this machine's own probe as their remote host (``network``).
"""
