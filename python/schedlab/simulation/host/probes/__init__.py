"""Programs that measure single costs; :mod:`schedlab.simulation.host.runners` runs them.

Probes are programs like the native workloads, but none of them is a native workload that users measure: the figures of
workloads never enter a calibration, and can judge it. Each probe times an operation many times in one or two series.
"""
