"""kernbench: timed builds of a kernel tree."""
