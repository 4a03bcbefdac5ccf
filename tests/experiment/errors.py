"""Messages of refused experiment files."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse


def error_of(text: str) -> str:
    """The message with which the text is refused as ``file.toml``."""
    with pytest.raises(ExperimentError) as caught:
        parse(text, "file.toml")
    return str(caught.value)
