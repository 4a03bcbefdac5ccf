"""Codecs: the formats in which kernel files show their values and accept new values.

`decode` turns the text of a file into the canonical value, and `encode` turns a canonical value into the text to
write. The two differ where a file shows more than the value: a list with the current choice in brackets, or sixteen
scheduler features in one line. The agent that writes the files (`crates/load/src/agent`) receives the texts of `encode`
and `shown`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, Literal

_WRAP_32 = 1 << 32


class Codec:
    """Whole decimal numbers, the format of nearly all sysctl and debugfs files; also the base class of the other
    codecs."""

    steady = True
    """False when the kernel itself changes the value, so that reading back proves nothing."""

    def __init__(self, name: str = "int") -> None:
        self.name = name

    def decode(self, raw: str) -> str | None:
        """Return the canonical value in `raw`; None when the text has another format."""
        text = raw.strip()
        try:
            return str(int(text))
        except ValueError:
            return text or None

    def encode(self, value: str) -> str:
        """Return the text to write for the canonical `value`."""
        return value

    form: Literal["whole", "word"] = "whole"
    """Whether the complete text of the file shows the value, or only one word of the text."""

    def shown(self, value: str) -> tuple[str, ...]:
        """Return the texts by which the file may show the canonical ``value``, the usual text first."""
        return (" ".join(value.split()),)

    def options(self, raw: str) -> tuple[str, ...] | None:
        """Return the values that the file offers; None when the format has no list of values."""
        return None


class VolatileCodec(Codec):
    """A number that the kernel itself adapts, such as the measured balancing cost of a domain."""

    steady = False


class Unsigned32Codec(Codec):
    """A signed number of the kernel behind a debugfs file that takes unsigned numbers only.

    Writing -1 to such a file fails with EINVAL (debugfs refuses a sign since 5.10), while 4294967295 means the same.
    """

    def decode(self, raw: str) -> str | None:
        value = super().decode(raw)
        if value is not None and value.isdigit() and int(value) >= _WRAP_32 // 2:
            return str(int(value) - _WRAP_32)
        return value

    def encode(self, value: str) -> str:
        return str(int(value) + _WRAP_32) if value.startswith("-") else value

    def shown(self, value: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.encode(value), value)))


class YesNoCodec(Codec):
    """A debugfs or sysfs boolean: written as 1 or 0, shown as Y or N, or as true or false. Canonical: 1 or 0."""

    _shown: ClassVar = {"y": "1", "1": "1", "true": "1", "n": "0", "0": "0", "false": "0"}

    def decode(self, raw: str) -> str | None:
        return self._shown.get(raw.strip().lower())

    def shown(self, value: str) -> tuple[str, ...]:
        return ("Y", "y", "1", "true", "True") if value == "1" else ("N", "n", "0", "false", "False")


class ChoiceCodec(Codec):
    """A list of choices with the current choice marked: `none voluntary (full) lazy`, `always [madvise] never`."""

    form = "word"

    def shown(self, value: str) -> tuple[str, ...]:
        return (f"[{value}]", f"({value})")

    _marked = re.compile(r"[(\[]([^)\]]+)[)\]]")

    def decode(self, raw: str) -> str | None:
        match = self._marked.search(raw)
        return match[1] if match else None

    def options(self, raw: str) -> tuple[str, ...] | None:
        return tuple(re.sub(r"[()\[\]]", " ", raw).split())


class FeatureCodec(Codec):
    """A flag of the scheduler's feature list. Canonical: `NAME` when on, `NO_NAME` when off."""

    form = "word"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.flag = name.partition(":")[2]

    def decode(self, raw: str) -> str | None:
        words = raw.split()
        return next((word for word in (self.flag, f"NO_{self.flag}") if word in words), None)


class TextCodec(Codec):
    """Words, compared without regard to white space: CPU lists, governors, clock sources."""

    def decode(self, raw: str) -> str | None:
        return " ".join(raw.split())


_CODECS: dict[str, type[Codec]] = {
    "int": Codec,
    "volatile": VolatileCodec,
    "u32": Unsigned32Codec,
    "yesno": YesNoCodec,
    "choice": ChoiceCodec,
    "feature": FeatureCodec,
    "text": TextCodec,
}
CODEC_NAMES: tuple[str, ...] = tuple(_CODECS)


@cache
def codec(name: str) -> Codec:
    """Return the codec of that name (`int`, `choice`, `feature:PLACE_LAG`, …); KeyError for any other name."""
    return _CODECS[name.partition(":")[0]](name)
