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

from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list

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

    def canonical(self, text: str) -> str:
        """Return a wanted value in the form of :meth:`decode`; ValueError, with a reason, for another format."""
        return text

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


class NumberCodec(Codec):
    """A number in a file of an unknown type. The file may also take a CPU list or a bit list of one digit."""

    def canonical(self, text: str) -> str:
        try:
            return str(int(text))
        except ValueError:
            pass
        if _LIST.fullmatch(text):
            return format_cpu_list(parse_cpu_list(text))
        if re.fullmatch(r"[0-9a-f]+", text):
            return text
        raise ValueError("is not a number, as the file contains; the unit of the file is not known")


class SwitchCodec(YesNoCodec):
    """`Y` or `N` in a file of an unknown type."""

    def canonical(self, text: str) -> str:
        value = self.decode({"on": "y", "yes": "y", "off": "n", "no": "n"}.get(text.lower(), text))
        if value is None:
            raise ValueError("is neither true nor false")
        return value


class CpuListCodec(Codec):
    """A list such as `0-3,8`, which the kernel shows in its own form. Canonical: that form."""

    def decode(self, raw: str) -> str | None:
        try:
            return format_cpu_list(parse_cpu_list(raw))
        except ValueError:
            return None

    def canonical(self, text: str) -> str:
        return format_cpu_list(parse_cpu_list(text))


class MaskCodec(Codec):
    """A list of bits in hexadecimal digits, in groups of 32 bits: `000000ff,00000003`. Canonical: the bare number.

    The name contains a text of the file (`mask:00,00000003`): written values have as many digits
    (`bitmap_print_to_pagebuf` in lib/bitmap-str.c, Linux 6.12).
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._digits = len(name.partition(":")[2].replace(",", ""))

    def decode(self, raw: str) -> str | None:
        try:
            return self.canonical(raw.strip())
        except ValueError:
            return None

    def canonical(self, text: str) -> str:
        if not re.fullmatch(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*|0x[0-9a-fA-F]+", text):
            raise ValueError("is not a list of bits in hexadecimal digits, as the file contains")
        return f"{int(text.replace(',', ''), 16):x}"

    def encode(self, value: str) -> str:
        digits = value.zfill(self._digits)
        first = len(digits) % 8
        groups = [digits[:first], *(digits[i : i + 8] for i in range(first, len(digits), 8))]
        return ",".join(filter(None, groups))

    def shown(self, value: str) -> tuple[str, ...]:
        return (self.encode(value),)


_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})+|0[0-9a-f]+|f+|(?=.*\d)[0-9a-f]*[a-f][0-9a-f]*")
_MARKED = re.compile(r"([\w.:+-]+ )*\[[^\s\[\]]+\]( [\w.:+-]+)*")

SEEN = "seen"
"""Name of the codec of files of an unknown type: the text of the file decides."""


def recognised(text: str) -> str:
    """Return the name of the codec of a file that contains this text."""
    value = " ".join(text.split())
    if re.fullmatch(r"-?(0|[1-9]\d*)", value):
        return "number"
    if value in ("Y", "N"):
        return "switch"
    if _MARKED.fullmatch(value):
        return "choice"
    if _MASK.fullmatch(value):
        return f"mask:{value}"
    if _LIST.fullmatch(value) and CpuListCodec().decode(value) == value:
        return "cpulist"
    return "text"


def codec_of(name: str, text: str) -> Codec:
    """Return the codec of that name; for :data:`SEEN`, the codec of a file that contains this text."""
    return codec(recognised(text) if name == SEEN else name)


def lacks_feature(name: str, text: str) -> str:
    """Describe that a kernel with this list of features lacks the feature of a tunable; name the most similar."""
    from difflib import get_close_matches

    flag = name.rpartition(".")[2]
    near = get_close_matches(flag, [word.removeprefix("NO_") for word in text.split()], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"its features: {' '.join(text.split())}"
    return f"the sched/features of this kernel do not contain {flag}; {hint}"


_CODECS: dict[str, type[Codec]] = {
    "int": Codec,
    "volatile": VolatileCodec,
    "u32": Unsigned32Codec,
    "yesno": YesNoCodec,
    "choice": ChoiceCodec,
    "feature": FeatureCodec,
    "text": TextCodec,
    "number": NumberCodec,
    "switch": SwitchCodec,
    "cpulist": CpuListCodec,
    "mask": MaskCodec,
    SEEN: TextCodec,
}
CODEC_NAMES: tuple[str, ...] = tuple(_CODECS)


@cache
def codec(name: str) -> Codec:
    """Return the codec of that name (`int`, `choice`, `feature:PLACE_LAG`, …); KeyError for any other name."""
    return _CODECS[name.partition(":")[0]](name)
