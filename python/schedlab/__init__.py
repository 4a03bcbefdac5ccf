"""schedlab: a laboratory for Linux scheduler changes."""
