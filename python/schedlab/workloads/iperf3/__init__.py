"""iperf3: throughput over loopback."""
