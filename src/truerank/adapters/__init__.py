"""Adapters: fitted models of other libraries as Scorers."""
