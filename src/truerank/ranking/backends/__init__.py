"""How a Scorer is counted: factors, an item-item matrix, or plain calls."""
