"""Linear models with closed forms, and SLIM."""
