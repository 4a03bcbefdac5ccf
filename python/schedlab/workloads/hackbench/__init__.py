"""hackbench: groups of senders and receivers that pass small messages."""
