"""Published tables and claims, reproduced: what names a paper, with its recipe beside it."""
