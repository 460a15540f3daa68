"""What will run: a study crossed into plans for the core, every statement spelled out. Pure."""
