"""Matrix factorisation by alternating least squares."""
