"""Real kernels in virtual machines, under QEMU: what is booted, with what inside, and how its results come out.

    spec, topology ──▶ qemu (arguments) ─┐
    initramfs (guest/, jobs)            ─┴▶ boot ──▶ console ──▶ watchdog
                                               └───▶ results (second serial port)

Nothing here knows of experiments; :mod:`schedlab.targets.vm` makes boots of a plan's trials.
"""
