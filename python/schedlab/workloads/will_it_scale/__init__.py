"""will-it-scale: operations a second by number of tasks."""
