"""The loop, its tools and its sub-agents."""
