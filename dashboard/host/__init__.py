"""What runs a roster: the host process, its supervisor, the tools its agents call, and the demo."""
