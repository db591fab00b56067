"""Whole experiments: data in, verdict out."""
