"""Interactions: reading, filtering, generating and finding them."""

from truerank.data.interactions import Interactions
from truerank.data.registry import load_dataset

__all__ = ["Interactions", "load_dataset"]
