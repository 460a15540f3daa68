"""What is kept: the tables of a run, their paths, their exports."""
