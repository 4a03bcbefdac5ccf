"""Kernels to boot: from a Debian package, a bzImage, a kernel tree, or a series built here.

    name ──▶ images.resolve ──▶ Image (path, release, configuration, checksum)
                 ├── debian        packages that apt downloads
                 └── build_cache   kernels that 'schedlab kernels build' made

    request ──▶ building.build: source, series and config become one image for each prefix of the series

A build only reads the user's tree. An image's key covers all inputs of its build, so that no kernel is built twice. A
prefix that does not apply or build is recorded as a gap, with its reason and its log.
"""
