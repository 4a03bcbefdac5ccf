"""Running a plan on a target into the store, and what is known before: its time and the size that it needs."""
