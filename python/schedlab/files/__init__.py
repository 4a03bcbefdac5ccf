"""Files that schedlab makes on this machine: replaced whole, locked, temporary, cached."""
