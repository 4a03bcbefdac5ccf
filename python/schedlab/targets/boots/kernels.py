"""The kernels of a plan on a machine that boots: requirements and downloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.errors import SchedlabError
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.kernels import debian
from schedlab.kernels.build_cache import KernelGap
from schedlab.kernels.images import NotDownloaded
from schedlab.targets.boots.boot import INSTALLED, Boots
from schedlab.targets.boots.delivery import modules_folder
from schedlab.targets.protocol import Download, Fault, MissingRequirement, by_variant
from schedlab.targets.vm import machine
from schedlab.targets.vm.settings import refusal


def missing_requirements(plan: Plan, boots: Boots) -> Iterator[MissingRequirement]:
    """Everything of the machine and of the kernels that would stop this plan. The check changes nothing there."""
    for reason, remedy in boots.faults():
        yield MissingRequirement("booting kernels", reason, remedy)
    variants = [variant for variant in plan.variants if variant.name != CONTROL]
    pairs = ((variant.name, fault) for variant in variants for fault in _faults(variant, boots))
    yield from by_variant(pairs, every=len(variants))


def _faults(variant: Variant, boots: Boots) -> Iterator[Fault]:
    try:
        kernel = boots.kernel(variant.kernel)
    except KernelGap:
        return  # the variant's trials fail with the reason
    except NotDownloaded:
        try:
            debian.offered(variant.kernel or "")
        except SchedlabError as error:
            yield str(error).partition("\n")[0], error.todo
        return
    except SchedlabError as error:
        yield str(error).partition("\n")[0], error.todo
        return
    if kernel.image is not None:
        if debian.is_name(kernel.image.name) and modules_folder(kernel.image) is None:
            yield (
                f"kernel {kernel.image.name} has its modules in a package that schedlab does not fetch",
                f"install linux-image-{kernel.release} on the machine, and name it installed:{kernel.release}",
            )
        for name, setting in variant.tunables.items():
            if (why := refusal(setting, kernel.image)) is not None:
                yield f"tunable {name!r}: {why[0]}", why[1]


def downloads(variants: Sequence[Variant]) -> list[Download]:
    """Return Debian's kernels that the cache lacks; the machine itself has the kernels that are installed there."""
    names = (variant.kernel for variant in variants if variant.kernel)
    return machine.downloads(name for name in names if not name.startswith(INSTALLED))
