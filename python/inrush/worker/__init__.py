"""The process of a run: its program, its parent's view of it, and how long it may take."""
