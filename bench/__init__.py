"""Benchmarks: real servers, a load from another process, and tables of ratios."""
