"""What the console is made of: each widget draws one thing, and reaches into no other."""
