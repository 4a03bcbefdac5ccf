"""What runs inside the guest, for its first process: a static busybox's shell."""
