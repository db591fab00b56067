"""Neighbourhood models."""
