"""hyperfine: repeated times of commands."""
