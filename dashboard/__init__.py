"""An operator console for a roster of running sub-agents."""

__version__ = "0.1.0"
