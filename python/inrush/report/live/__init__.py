"""What is seen of a study while it runs: in a browser, on a terminal, and by Prometheus."""
