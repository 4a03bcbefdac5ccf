"""What is read around a trial, and what a machine is."""
