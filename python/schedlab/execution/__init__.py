"""The loop that takes a plan through a target into the store."""
