"""Bisection by measurement: which of many versions made it worse, although values scatter.

    flows.bisect ── opens ──→ bench: versions that are built, booted, measured
        │                        │
        └──→ loop ──→ choice     which version next: what a sample tells a minute
               │  └─→ posterior  where the change is, beside none and two
               │         └─→ likelihood   how levels and scatters explain the samples
               ├ earlier     what runs measured of the ends: does it hold?
               └ journal: every sample, on disk before it is used; --resume goes on from there

Values are worked on as natural logarithms, signed so that the larger is the worse.
"""
