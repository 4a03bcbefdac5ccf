"""Logs of MangoHud and PresentMon: units, streams of frames, and the definition of the 1 % low."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import, ImportProblem

SYSTEM = "os,cpu,gpu,ram,kernel,driver,cpuscheduler\nGentoo Linux,i5-10600K,UHD 630,32148228,7.0.1,,performance\n"
LOG = f"""{SYSTEM}\
fps,frametime,cpu_load,cpu_power,gpu_load,cpu_temp,gpu_temp,gpu_core_clock,gpu_mem_clock,gpu_vram_used,gpu_power,\
ram_used,swap_used,process_rss,cpu_mhz,elapsed
50,20,3.33333,0,0,44,0,950,0,0,0,10.039,2.04078,0,800,39991331
40,25,3.33333,0,0,44,0,950,0,0,0,10.039,2.04078,0,800,64991331
100,10,3.33333,0,0,44,0,950,0,0,0,10.039,2.04078,0,800,74991331
"""
"""Columns of MangoHud 0.8."""
V1 = """\
Application,ProcessID,SwapChainAddress,Runtime,SyncInterval,PresentFlags,Dropped,TimeInSeconds,msInPresentAPI,\
msBetweenPresents,AllowsTearing,PresentMode
game.exe,1268,0x1,DXGI,1,0,0,0.349,0.0893,20.0,0,Hardware: Legacy Flip
game.exe,1268,0x1,DXGI,1,0,0,0.382,0.1524,30.0,0,Hardware: Legacy Flip
dwm.exe,7,0x2,DXGI,1,0,0,0.382,0.1524,16.0,0,Hardware: Legacy Flip
"""
V2 = """\
Application,ProcessID,SwapChainAddress,PresentRuntime,SyncInterval,PresentFlags,AllowsTearing,PresentMode,FrameType,\
CPUStartTime,FrameTime,CPUBusy
game.exe,1268,0x1,DXGI,1,0,0,Hardware: Legacy Flip,Application,1.0,20.0,16.3
game.exe,1268,0x9,DXGI,1,0,0,Hardware: Legacy Flip,Application,1.0,8.0,2
game.exe,1268,0x1,DXGI,1,0,0,Hardware: Legacy Flip,Application,1.0,NA,16.3
"""


def read(tmp_path: Path, text: str, name: str = "before.csv") -> Import:
    (tmp_path / name).write_text(text)
    return detect.read(tmp_path / name)


def figures(imported: Import, **parameters: str | int) -> dict[str, float]:
    rows = [series for series in imported.series if dict(series.parameters) == parameters]
    return {f"{row.metric} [{row.unit}, {row.direction}]": row.values.item() for row in rows}


def mangohud(times: list[float], factor: float = 1) -> str:
    return f"{SYSTEM}fps,frametime,cpu_load\n" + "".join(f"{1000 / time},{time * factor},1\n" for time in times)


def test_mangohud_gives_rate_and_times(tmp_path: Path) -> None:
    imported = read(tmp_path, LOG, "vkcube_2026-01-31_10-20-30.csv")
    assert figures(imported, application="vkcube") == {
        "fps [frames/s, higher]": pytest.approx(3 / 0.055),
        "frame-time-p50 [ms, lower]": 20,
    }
    assert [series.workload for series in imported.series] == ["mangohud", "mangohud"]
    assert ["too few for fps-1%-low and fps-0.1%-low" in note for note in imported.notes] == [True]


def test_the_lows_are_places_in_the_order_of_the_times(tmp_path: Path) -> None:
    times = [float(time) for time in range(1, 1001)]
    assert figures(read(tmp_path, mangohud(times[500:] + times[:500]))) == {
        "fps [frames/s, higher]": pytest.approx(1000 / 500.5),
        "frame-time-p50 [ms, lower]": 500.5,
        "fps-1%-low [frames/s, higher]": pytest.approx(1000 / 991),
        "fps-0.1%-low [frames/s, higher]": 1,
    }


@pytest.mark.parametrize("factor", [1, 1e3, 1e6], ids=["0.6.9 and later", "before 0.6.9", "September 2020"])
def test_the_unit_of_times_follows_from_the_rate(factor: float, tmp_path: Path) -> None:
    assert figures(read(tmp_path, mangohud([10.0, 20.0, 30.0], factor)))["frame-time-p50 [ms, lower]"] == 20


def test_a_log_at_intervals_is_noted_and_damage_is_refused(tmp_path: Path) -> None:
    assert any("log_interval" in note for note in read(tmp_path, LOG.replace("74991331", "974991331")).notes)
    for text, fault in (
        (LOG.replace(",74991331", ""), "15 values for 16 names"),
        (LOG.replace("100,10,", "100,-,"), "'-' is not a number"),
        (LOG.replace("100,10,", "100,0,"), "took no time"),
        (LOG.partition("50,20")[0], "without a frame"),
        (mangohud([10.0, 20.0], 60), "unknown unit"),
    ):
        with pytest.raises(ImportProblem, match=fault):
            read(tmp_path, text)
    with pytest.raises(ImportProblem, match="MangoHud's summary"):
        read(tmp_path, "0.1% Min FPS,1% Min FPS,97% Percentile FPS,Average FPS\n1,2,3,4\n")


def test_presentmon_has_a_row_for_each_program_and_swap_chain(tmp_path: Path) -> None:
    first = read(tmp_path, V1)
    assert figures(first, application="game.exe") == {
        "fps [frames/s, higher]": 40,
        "frame-time-p50 [ms, lower]": 25,
    }
    assert figures(first, application="dwm.exe")["fps [frames/s, higher]"] == 62.5
    second = read(tmp_path, V2)
    assert figures(second, application="game.exe", **{"swap-chain": 1})["fps [frames/s, higher]"] == 50
    assert figures(second, application="game.exe", **{"swap-chain": 2})["fps [frames/s, higher]"] == 125
    assert "left out: 1 frame without FrameTime" in second.notes[0]
    with pytest.raises(ImportProblem, match="none of the columns"):
        read(tmp_path, V2.replace("FrameTime", "MsGPUTime"))
