"""The processes of a run: their program, where they live, how they start together, and how their tables become one."""
