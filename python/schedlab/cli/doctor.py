"""``schedlab doctor``: what this machine can run, and what would mend the rest."""

from __future__ import annotations

import os


def doctor() -> None:
    """Tell what this machine can run, and the command that mends what is missing."""
    from rich.console import Console
    from rich.table import Table

    from schedlab.cli.recovery import recover
    from schedlab.observe.fingerprint import stable_hash, take
    from schedlab.tunables import Available, Refused, System, load_catalogue
    from schedlab.workloads import registry
    from schedlab.workloads.tools import SCHEDLOAD, Tool, install_line, missing

    console = Console(highlight=False)
    recover(console)
    print_ = console.print
    fingerprint = take()
    kernel, cpu = fingerprint["kernel"], fingerprint["cpu"]
    print_(
        f"machine   {stable_hash(fingerprint)}: {fingerprint['topology']['cpus']} CPUs, {cpu.get('model', 'unknown model')}"
    )
    guest = " (virtual machine)" if fingerprint["virtualisation"]["virtualised"] else ""
    print_(f"kernel    {kernel['release']}{guest}, clock source {kernel['clocksource']}")
    print_(
        f"user      {'root' if os.geteuid() == 0 else 'not root: tunables cannot be written, raised priorities may be refused'}"
    )
    _tunables(console, System, load_catalogue, Available, Refused)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("workload")
    table.add_column("here", overflow="fold")
    lacking: list[Tool] = []
    for name in registry.names():
        absent = missing(registry.adapter(name))
        lacking += absent
        table.add_row(name, f"missing {', '.join(tool.program for tool in absent)}" if absent else "ready")
    print_(table)
    if lacking:
        print_(f"\ninstall what is missing:\n  {install_line(list(dict.fromkeys(lacking)))}", soft_wrap=True)
    elif SCHEDLOAD not in lacking:
        print_("\nevery workload can run here")
