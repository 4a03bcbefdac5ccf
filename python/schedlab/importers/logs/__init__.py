"""Logs of tools, read by the readers in :mod:`schedlab.workloads`.

paths ──files──▶ File ──reading──▶ ReadLog ──series──▶ Import
"""
