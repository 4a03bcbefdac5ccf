"""The examples of the help pages: three of each command, and for a group of commands one of its first commands each."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap

EXAMPLES = """
schedlab try hackbench groups=1,4 --variant batch:policy=batch
schedlab try pipetest --variant pinned:cpus=0 --target sim:laptop-4 --blocks 6
schedlab try hackbench --variant nice:nice=5 --save nice.toml
schedlab run mine.toml --dry-run
schedlab run mine.toml --target vm:debian-6.12@2x2/2 --blocks 12
schedlab run mine.toml --quick --only hackbench --fail-on worse
schedlab report latest --format html -o report.html
schedlab report 3 4 --baseline 3:base
schedlab report slice --format mmtests --counters
schedlab init mine.toml
schedlab init mine.toml hackbench groups=1,4 --variant batch:policy=batch
schedlab init mine.toml --example slice
schedlab noise --cpus 2-3 --for 60s
schedlab noise --cpus 3 --priority fifo:1 --format html -o noise.html
schedlab noise --read noise.json
schedlab cost debian-6.1 debian-6.12 --path pipe
schedlab cost debian-6.12 --variant s:cmdline=schedstats=enable --functions
schedlab cost series:five --compare previous --dry-run
schedlab doctor
schedlab doctor --target ssh:root@box
schedlab doctor --quiet 2-3 --noise noise.json
schedlab compare 1 2
schedlab compare latest:base latest:batch --fail-on worse
schedlab compare before.log after.log --format markdown -o comparison.md
schedlab import results --dry-run
schedlab import before.log after.log --name vanilla --name patched
schedlab import mail.txt --table lines=12-30,columns=runs,label=1,better=lower
schedlab history
schedlab history hackbench groups=4
schedlab history tbench 6.12 --format json -o history.json
schedlab attribute mail.txt --prefix base=v1 --prefix fix=v1-fix
schedlab attribute mail.txt --prefix a=r1,r2 --prefix b=r3,r4 --metric Elapsed
schedlab attribute mail.txt --prefix a=1 --prefix b=2 --format html -o d7.html
schedlab site publish site
schedlab site publish /srv/www/perf --url https://perf.example.org/
schedlab site publish site --store results.sqlite --pages 100
schedlab site serve
schedlab site serve --port 0 --pages 100
schedlab site serve --host 0.0.0.0 --store results.sqlite
schedlab kernels list
schedlab kernels list --available
schedlab kernels list --format json
schedlab kernels show built:stack
schedlab kernels show built:stack+02
schedlab kernels show built:stack+02 --format json
schedlab kernels fetch debian-6.12
schedlab kernels fetch debian-5.10 debian-7.2
schedlab kernels fetch debian-6.12.117+deb12
schedlab kernels probe debian-6.12
schedlab kernels probe debian-6.1 built:stack+02
schedlab kernels probe tree:../linux --format json
schedlab kernels build ../linux --range v6.12..my-series --dry-run
schedlab kernels build ../linux --range v6.12..my-series --to stack.toml
schedlab kernels build linux-source --patches series --config defconfig -j8
schedlab kernels boot ssh:root@box debian-6.12
schedlab kernels boot ssh:root@box --cmdline mitigations=off
schedlab kernels boot ssh:root@box --back
schedlab tunables list
schedlab tunables list migration --all
schedlab tunables list --format json
schedlab tunables show sched.base_slice_ns
schedlab tunables show migration_cost_ns
schedlab tunables show kernel.numa_balancing --format json
schedlab tunables undo
schedlab tunables undo --quiet
schedlab tunables undo --verbose
schedlab workloads list
schedlab workloads list | grep latency
schedlab workloads list --format json
schedlab workloads show hackbench
schedlab workloads show schbench
schedlab workloads show pgbench --format json
schedlab sweep sweep.toml --dry-run
schedlab sweep sweep.toml --jobs 8
schedlab sweep --show latest --format html -o sweep.html
schedlab tune mine.toml --trials 20
schedlab tune mine.toml --metric latency-p99 --budget 2h
schedlab tune --show latest
schedlab bisect --commits v1.0..HEAD --build make --run ./bench
schedlab bisect slices.toml --good 1ms --bad 8ms
schedlab bisect --show latest --format html -o bisection.html
schedlab judge open --baseline base.toml
schedlab judge open --baseline base.toml --alpha 0.01 --blocks 16
schedlab judge open --baseline base.toml --target sim:laptop-4
schedlab judge ask candidate.toml
schedlab judge ask candidate.toml --blocks 32
schedlab judge ask candidate.toml --blocks 0 --format text
schedlab judge confirm
schedlab judge confirm --blocks 40
schedlab judge confirm --candidate slow --format text
schedlab judge status
schedlab judge status --campaign 2
schedlab judge status --format json
schedlab sim run hackbench groups=4 --machine laptop-4
schedlab sim run pipetest --machine rpi4b --set sched.base_slice_ns=6ms
schedlab sim run hackbench --machine laptop-4 --timeline hackbench.perfetto
schedlab sim twin mine.toml --calibrated box.toml
schedlab sim twin mine.toml --machine box.toml --quick
schedlab sim twin --runs 1,2 --format html -o twin.html
schedlab sim predict mine.toml --on box.toml
schedlab sim predict mine.toml --on laptop-4 --kernel linux-6.12
schedlab sim predict mine.toml --on box.toml --format json
schedlab sim reproduce --scores
schedlab sim reproduce migration-cost --quick
schedlab sim reproduce schedstats --format html -o reproduction.html
schedlab sim machines list
schedlab sim machines list | grep Kunpeng
schedlab sim machines list --format json
schedlab sim machines show laptop-4
schedlab sim machines show box.toml --format json
schedlab sim machines show rpi4b > mine.toml
schedlab sim machines from-host
schedlab sim machines from-host -o box.toml
schedlab sim machines from-host --name box -o box.toml
schedlab sim machines calibrate
schedlab sim machines calibrate -o box.toml
schedlab sim machines calibrate --tries 25 --name box -o box.toml
schedlab sim kernels list
schedlab sim kernels list | grep EEVDF
schedlab sim kernels list --format json
schedlab sim kernels show linux-6.12
schedlab sim kernels show mine.toml --format json
schedlab sim kernels show linux-6.12 > mine.toml
schedlab store list
schedlab store list --store results.sqlite
schedlab store list --format json
schedlab store show latest
schedlab store show 3 --file > mine.toml
schedlab store show slice --format json
schedlab store merge box1.sqlite box2.sqlite
schedlab store merge box1.sqlite box2.sqlite --to all.sqlite
schedlab store merge mine.sqlite --to postgresql://host/lab
schedlab store info
schedlab store info --store postgresql://host/lab
schedlab store info --format json
schedlab store check
schedlab store check --store results.sqlite
schedlab store check --format json
schedlab store copy results.sqlite postgresql://host/lab
schedlab store copy postgresql://host/lab copy.sqlite
schedlab store copy damaged.sqlite new.sqlite --skip-damaged
schedlab store grant reader anna
schedlab store grant writer anna --store postgresql://host/lab
schedlab store grant owner anna --store postgresql://host/lab --apply
"""
"""Command lines of at most 78 columns. ``tests/cli/test_examples.py`` parses them."""

NUMBER = 3
"""Examples of a help page."""


def examples(path: str) -> list[str]:
    """Return the examples of a command by its whole name, or one example of each of the first commands of a group."""
    lines = [line for line in EXAMPLES.splitlines() if f"{line} ".startswith(f"{path} ")]
    if len(lines) <= NUMBER:
        return lines
    seen: Counter[str] = Counter()
    ranked = []
    for line in lines:
        word = f"{line.removeprefix(path)} ".split(" ")[1]
        ranked.append((seen[word], line))
        seen[word] += 1
    return [line for _, line in sorted(ranked, key=lambda each: each[0])][:NUMBER]


def formats(path: str) -> list[str]:
    """Return the lines that list the formats of ``schedlab import``; an empty list for another command."""
    if path != "schedlab import":
        return []
    from schedlab.importers import detect

    return wrap(", ".join(detect.formats()), 76, break_on_hyphens=False)
