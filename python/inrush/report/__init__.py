"""What is shown: figures, the page, lines for the terminal."""
