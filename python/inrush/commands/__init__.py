"""What each command does, one file a command; `cli` parses the words and calls them. The only modules that print."""
