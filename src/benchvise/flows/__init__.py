"""What each command does, without words parsed or printed: one module a command."""
