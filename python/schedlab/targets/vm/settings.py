"""The settings of a variant in a guest: whether its kernel has them, which files to write, and what was read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schedlab.experiment.model import Variant
from schedlab.tunables import KernelVersion, Setting
from schedlab.tunables.codecs import codec
from schedlab.tunables.terms import PlaceKind
from schedlab.tunables.tunable import Place, Tunable
from schedlab.vm import jobs
from schedlab.vm.images import Image, config_of


def run_time_places(tunable: Tunable, version: KernelVersion) -> list[Place]:
    """Where a running kernel may have it: the places of this version first, since vendors bring things back."""
    places = [place for place in tunable.places if place.kind is not PlaceKind.BOOT]
    return sorted(places, key=lambda place: version not in place.range)


def refusal(wanted: Setting, image: Image) -> tuple[str, str] | None:
    """Why this kernel cannot have the tunable set while it runs, and what to do; None when it should."""
    tunable = wanted.tunable
    if tunable is None:
        return "only simulated kernels have it", "run it with --target sim:MACHINE"
    version = KernelVersion.parse(image.release)
    here = tunable.places_in(version)
    if not here:
        return f"kernel {version} does not have it: it is in kernels {tunable.range}", "take another kernel"
    if all(place.kind is PlaceKind.BOOT for place in here):
        words = ", ".join(place.where for place in here)
        return "it is a boot parameter in this kernel", f"say it in the variant's cmdline: {words}"
    options = config_of(image)
    lacking = [need.option for need in tunable.config if version in need.range and need.option not in (options or {})]
    if options is not None and lacking:
        return f"kernel {image.release} is built without {lacking[0]}", "take a kernel that is built with it"
    return None


def settings(variant: Variant, image: Image) -> list[jobs.Setting]:
    """The files that a guest writes before its jobs; a tunable that makes others appear comes before them."""
    version = KernelVersion.parse(image.release)
    wanted = [(setting.catalogued, setting.text) for setting in variant.tunables.values()]
    wanted.sort(key=lambda pair: pair[0].enabled_by is not None)
    return [
        jobs.Setting(tunable.name, tunable.places.index(place), place.text, codec(place.codec).encode(text))
        for tunable, text in wanted
        for place in run_time_places(tunable, version)
    ]


def faults(variant: Variant, told: str) -> Iterator[str]:
    """What did not take effect, by the guest's account of its settings (see the guest's ``init``)."""
    lines = _lines(told)
    for name, setting in variant.tunables.items():
        tunable, text = setting.catalogued, setting.text
        files = lines.get(name)
        if not files:
            yield f"the guest's kernel has no file for {name!r}"
            continue
        for place, path, why, raw in files:
            how = codec(tunable.places[place].codec)
            if why:
                yield f"the guest's kernel does not take {text!r} for {name!r}: {why.rpartition(': ')[2].strip()}"
            elif how.steady and (now := how.decode(raw)) != text:
                yield f"{path} was set to {text} in the guest, and says {now}"


def _lines(told: str) -> Mapping[str, Sequence[tuple[int, str, str, str]]]:
    lines: dict[str, list[tuple[int, str, str, str]]] = {}
    for line in told.splitlines():
        name, place, path, why, raw = line.split("\t")
        lines.setdefault(name, []).append((int(place), path, why, raw))
    return lines
