"""Published tables and claims, made again: what names a paper, with its recipe beside it."""
