"""Interactions: reading, filtering, generating and finding them."""
