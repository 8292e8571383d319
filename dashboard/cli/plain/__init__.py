"""What a session tells, in plain words line by line: for pipes, for grep, and for those who listen to a screen."""
