"""Servers that inrush fetches and starts: programs, folders, passwords, limits, and their end. Which steps an engine takes, its folder says."""
