"""cyclictest of the rt-tests package: latency of timer wake-ups."""
