"""One run by several client processes: they start at one instant, and their tables become one."""
