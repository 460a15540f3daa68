"""`python -m inrush`: the command line of whichever Python it is installed in."""

from inrush.cli import main

main()
