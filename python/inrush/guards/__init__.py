"""What could make a run's figures a lie, and what each guard says of it. Pure."""
