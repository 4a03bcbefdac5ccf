"""Virtual machines: which kernel they boot, what they are made of, and how a trial gets in and out."""
