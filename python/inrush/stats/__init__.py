"""What was measured: from sealed runs to points, intervals and the answer. Pure."""
