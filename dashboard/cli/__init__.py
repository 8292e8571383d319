"""The command line: it wires the layers together, each command importing only what it needs."""
