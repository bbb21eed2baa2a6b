"""Streaming SQL on Apache Spark: every change of a view reaches its target exactly once."""
