"""Any command line, timed."""
