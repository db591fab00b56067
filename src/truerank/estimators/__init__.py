"""Estimators: global metrics from sampled ranks."""
