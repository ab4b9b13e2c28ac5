"""The planted-cause bench: ``python -m benchmarks.why`` scores the diagnoses of ``why``."""
