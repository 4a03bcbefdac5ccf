"""The kernel of this machine as the simulator's oracle: files of rt-app run by both, and what differs."""
