"""The ssh target: another machine's running kernel, changed and measured by an agent that ends without a trace.

Connection (OpenSSH's client) ── copies and starts ──▶ schedload agent
Agent (requests, lease) ── RemoteFiles, Values ──▶ tunables      ── trials ──▶ measurements
"""
