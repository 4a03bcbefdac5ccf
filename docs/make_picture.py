"""Write the README's picture, docs/report.svg: the report of a stored run in a terminal.

.venv/bin/python docs/make_picture.py STORE [RUN]
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from schedlab.findings.run import findings
from schedlab.report.answers.report import compose
from schedlab.report.build import build
from schedlab.report.render import text
from schedlab.report.render.layout import shown
from schedlab.store.file import open_store


def main() -> None:
    """Render the run's report in 80 columns, and write it as a picture."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("store", type=Path)
    options.add_argument("run", type=int, nargs="?")
    arguments = options.parse_args()
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    answer = compose(build(findings(open_store(arguments.store, create=False), arguments.run)))
    lines = (shown(line, styles=True) for line in text.lines(answer, 80))
    console.print(Text.from_ansi("\n".join(lines)))
    picture = console.export_svg(title="schedlab report", theme=MONOKAI)
    # The library's template would fetch a font from the web whenever the picture is shown.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code", "monospace")
    path = Path(__file__).parent / "report.svg"
    path.write_text(picture, encoding="utf-8")
    print(f"{path.name}: {len(picture)} characters")


if __name__ == "__main__":
    main()
