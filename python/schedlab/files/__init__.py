"""Files that schedlab makes on this machine: atomic replacement, locks, temporary files and the cache."""
