"""The console: a Textual app over a session's operator face. It sees the core alone."""
