"""The console's screens: the console itself, and what opens over it."""
