"""Interactions: reading, filtering, generating and finding them."""

from truerank.data.filters import active_users, at_least, between, compact, k_core, without_weights
from truerank.data.interactions import Interactions
from truerank.data.registry.load import load_dataset

__all__ = [
    "Interactions",
    "active_users",
    "at_least",
    "between",
    "compact",
    "k_core",
    "load_dataset",
    "without_weights",
]
