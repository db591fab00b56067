"""Interactions: reading, filtering, generating and finding them."""

from truerank.data.interactions import Interactions
from truerank.data.registry.load import load_dataset

__all__ = ["Interactions", "load_dataset"]
