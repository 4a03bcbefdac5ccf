"""A variant's settings in a guest: whether its kernel has the tunables, the files to write, the values read back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from schedlab.experiment.model import Variant
from schedlab.kernels.images import Image, config_of
from schedlab.targets.protocol import Fault
from schedlab.targets.vm import jobs
from schedlab.tunables import Absent, BootOnly, KernelVersion, Setting
from schedlab.tunables.availability import lacking
from schedlab.tunables.codecs import codec
from schedlab.tunables.journal.replies import Written
from schedlab.tunables.tunable import Tunable


def refusal(setting: Setting, image: Image) -> Fault | None:
    """Return why the tunable cannot be set while this kernel runs; None if the kernel should accept it."""
    if setting.tunable is None:
        return "only simulated kernels have this tunable", "use --target sim:MACHINE"
    version = KernelVersion.parse(image.release)
    match lacking(setting.tunable, version, config_of(image)):
        case BootOnly():
            return "the tunable is a boot parameter in this kernel", _boot_remedy(setting, version)
        case Absent(config=None) as lack:
            return lack.why, "use another kernel"
        case Absent() as lack:
            return lack.why, "use a kernel that is built with this option"
    return None


def _boot_remedy(setting: Setting, version: KernelVersion) -> str:
    """Describe the parameter of the variant's command line that replaces the tunable."""
    argument = setting.catalogued.boot_argument(setting.text, version)
    if argument is None:
        return f"remove the tunable: this kernel has no boot parameter for the value {setting.text}"
    return (
        f"set the parameter in the variant's cmdline: {argument}"
        if argument
        else "remove the tunable: the kernel starts with this value"
    )


def settings(variant: Variant, image: Image, variants: Iterable[Variant] = ()) -> list[jobs.Setting]:
    """Return the files to write before a guest's jobs. A tunable that enables other tunables precedes them.

    The tunables of the other ``variants`` follow without a text: they keep their values, and a trial must not change
    them.
    """
    version = KernelVersion.parse(image.release)
    tunables: list[tuple[Tunable, str | None]] = [
        (setting.catalogued, setting.text) for setting in variant.tunables.values()
    ]
    tunables.sort(key=lambda pair: pair[0].enabled_by is not None)
    others = {name: setting for each in variants for name, setting in each.tunables.items() if setting.tunable}
    tunables += [(setting.catalogued, None) for name, setting in others.items() if name not in variant.tunables]
    places = [(tunable, text, place) for tunable, text in tunables for place in tunable.run_time_places(version)]
    return [
        jobs.Setting(
            tunable.name,
            tunable.places.index(place),
            place.text,
            None if text is None else codec(place.codec).encode(text),
            codec(place.codec).steady,
        )
        for tunable, text, place in places
    ]


def faults(variant: Variant, written: Sequence[Written]) -> Iterator[str]:
    """Yield settings without effect, according to the guest's agent."""
    for name, setting in variant.tunables.items():
        tunable, text = setting.catalogued, setting.text
        own = [each for each in written if each.name == name and each.place < len(tunable.places)]
        if not own:
            yield f"the guest's kernel has no file for {name!r}"
        for each in own:
            place_codec = codec(tunable.places[each.place].codec)
            if each.error is not None:
                yield f"the guest's kernel does not take {text!r} for {name!r}: {os.strerror(each.error)}"
            elif place_codec.steady and (value := place_codec.decode(" ".join(each.shown.split()))) != text:
                yield f"{each.path} was set to {text} in the guest, and contains {value}"
