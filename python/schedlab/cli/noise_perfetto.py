"""A measurement of interruptions as a trace for Perfetto's viewer."""

from __future__ import annotations

import json
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.extension import extension
from schedlab.files.output_file import output, remedy
from schedlab.results.interruptions import Noise


def require_file(path: Path | None) -> None:
    """SchedlabError unless the trace has a file: it is not text."""
    if path is None:
        raise SchedlabError("a trace is not text", where="--format perfetto", todo="name its file with --output FILE")


def write(noise: Noise, path: Path | None) -> None:
    """Write the gaps with their causes; SchedlabError for a stored measurement without the parts of its gaps."""
    require_file(path)
    assert path is not None
    if noise.gaps is None:
        todo = "measure with --format perfetto, or with --format json by this version"
        raise SchedlabError("the measurement does not contain the parts of its gaps", where="--read", todo=todo)
    document = {
        "target": noise.target,
        "causes": [cause.name for cause in noise.causes],
        "cpus": [(cpu.cpu, cpu.start_ns) for cpu in noise.cpus],
        "gaps": [gap.model_dump() for gap in noise.gaps],
    }
    with output(path, remedy("--output")) as file:
        extension().write_interruptions(str(file), json.dumps(document))
