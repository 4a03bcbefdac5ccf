"""The kernel of this machine as the simulator's oracle: rt-app files run by both, and their differences."""
