"""The commands as Python functions. ``schedlab.run`` and so on are imported from here when they are first used."""
