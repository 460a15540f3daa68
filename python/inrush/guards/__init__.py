"""What could make a figure a lie, and what each guard says of it. Pure."""
