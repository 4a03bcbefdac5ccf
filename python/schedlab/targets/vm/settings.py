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
from schedlab.tunables.codecs import Codec, codec, codec_of, lacks_feature
from schedlab.tunables.journal.frames import SHOWN
from schedlab.tunables.journal.replies import Written
from schedlab.tunables.journal.values import undocumented
from schedlab.tunables.terms import Kind
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


def faults(variant: Variant, written: Sequence[Written]) -> Iterator[tuple[Setting, str]]:
    """Yield settings without effect, according to the guest's agent, each with the reason."""
    for name, setting in variant.tunables.items():
        tunable = setting.catalogued
        own = [each for each in written if each.name == name and each.place < len(tunable.places)]
        if not own:
            yield setting, f"the guest's kernel has no file for {name!r}"
        for each in own:
            if fault := _fault(setting, codec_of(tunable.places[each.place].codec, each.shown), each):
                yield setting, fault


def remarks(variant: Variant, written: Sequence[Written]) -> Iterator[str]:
    """Yield what the files of undocumented knobs contain in the guest."""
    for each in written:
        setting = variant.tunables.get(each.name)
        if setting is not None and not setting.catalogued.is_documented:
            form = codec_of(setting.catalogued.places[each.place].codec, each.shown)
            yield undocumented(setting, each.path, str(form.decode(each.shown)))


def _fault(setting: Setting, form: Codec, written: Written) -> str:
    """Return why a setting had no effect; empty if it had. What the file contains decides a knob's form."""
    value = form.decode(" ".join(written.shown.split()))
    if setting.catalogued.kind is Kind.FEATURE and value is None:
        return lacks_feature(setting.name, written.shown)
    if written.error is not None:
        text = os.strerror(written.error)
        return f"the guest's kernel does not take {setting.text!r} for {setting.name!r}: {text}"
    try:
        wanted = form.canonical(setting.text)
    except ValueError:
        wanted = None
    if form.steady and (value is None or value != wanted):
        shown = " ".join(written.shown.split())[:SHOWN] if value is None else value
        return f"{written.path} was set to {setting.text} in the guest, and contains {shown or 'nothing'}"
    return ""
