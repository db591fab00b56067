"""Delimited text files, as people have them."""
