"""`python -m inrush.cli`: the command line of a checkout that is not installed."""

from inrush.cli import main

main()
