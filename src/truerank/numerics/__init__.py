"""The compiled floor: random streams, ties, threads, memory, kernels. It knows of no model."""
