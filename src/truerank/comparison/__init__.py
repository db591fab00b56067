"""Comparison: which model is better, how sure we are, and how much to rank to find out."""
