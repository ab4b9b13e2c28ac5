"""Traces for other programs: Perfetto's protobuf, Chrome's JSON, Parquet tables."""
