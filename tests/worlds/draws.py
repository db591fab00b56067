"""What several parts of a world draw."""

from __future__ import annotations

import numpy as np


def log_uniform(rng: np.random.Generator, least: int, most: int) -> int:
    """A whole number whose logarithm is uniform: small and large are as frequent."""
    return int(np.clip(np.exp(rng.uniform(np.log(least), np.log(most + 1))), least, most))
