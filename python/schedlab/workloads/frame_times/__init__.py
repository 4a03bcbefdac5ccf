"""Times of frames: logs of MangoHud and PresentMon."""
