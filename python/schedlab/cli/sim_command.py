"""``schedlab sim``: the commands of the simulator."""

from __future__ import annotations

from typing import ClassVar

from schedlab.cli.commands import Commands, Group


class _Simulator(Group):
    places: ClassVar = {
        "Commands": {
            "run": "sim_run_command:run",
            "twin": "sim_twin_command:twin",
            "predict": "sim_predict_command:predict",
            "reproduce": "sim_reproduce_command:reproduce",
            "machines": "sim_models_command:machines",
            "kernels": "sim_models_command:kernels",
        }
    }


app = Commands(group=_Simulator, help="The simulator: programs on simulated machines, predictions, and their errors.")
