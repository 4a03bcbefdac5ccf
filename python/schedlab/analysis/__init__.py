"""Statistics: functions from data frames to values, without files, clock or output."""
