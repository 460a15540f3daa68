"""What the twin of an engine is made of: the parts that it may have, and what twins share. No server is started here."""
