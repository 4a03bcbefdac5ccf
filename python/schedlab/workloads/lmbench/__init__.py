"""lmbench: the summary of its results. Its single programs are a declared format."""
