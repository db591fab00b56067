"""What sampled ranks can and cannot say: identification bounds, blind spots, ceilings."""
