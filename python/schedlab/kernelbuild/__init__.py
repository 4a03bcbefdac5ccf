"""Building kernels: a source tree and a patch series become one image for each prefix of the series.

    source (git or folder) ── put ──▶ copy in the cache ── apply 1 … k, make ──▶ shelf (image, configuration, log)

The user's tree is only read. An image's key is made of everything that it is built from, so nothing is built twice;
a prefix that does not apply or build stands on the shelf as a gap, with its reason and its log.
"""
