"""The journal: one SQLite file a session, the bus between the host process and every console."""
