"""How results are judged: data frames in, values out; no files, no clock, no printing."""
