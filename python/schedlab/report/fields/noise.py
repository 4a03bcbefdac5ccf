"""The fields of the JSON of ``schedlab noise``, which is also the file that the command reads again."""

from schedlab.results.interruptions import Noise as Fields

__all__ = ["Fields"]
