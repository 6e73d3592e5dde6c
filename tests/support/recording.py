#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recording.py FILE SCENE: a recording of stoker monitor, made up: what GPUs of known load would have given.

    square   one GPU, load a square wave (0.4 s, on for 70 %), samples of 20 ms
    dips     one GPU, 95 % but for 2 s in every 15
    odd      two GPUs: one tells nearly nothing and is lost half-way, with names that are hard to print
    parts    a GPU that MIG divides, and two of its parts; the numbers of parts have a gap
    host     no GPU: a job alone
"""
import json
import sys

METRICS = """util_percent memory_busy_percent sm_active_percent tensor_active_percent dram_active_percent power_w
power_limit_w energy_j memory_used_bytes memory_total_bytes temperature_c temperature_limit_c memory_temperature_c
fan_percent sm_clock_mhz sm_clock_max_mhz memory_clock_mhz memory_clock_max_mhz throttle throttled_power_s
throttled_heat_s pcie_sent_bytes_total pcie_received_bytes_total link_generation link_generation_max link_width
link_width_max""".split()
HOST = """cpu_percent cpu_max_percent job_cpu_percent job_memory_bytes memory_used_bytes memory_total_bytes
disk_read_bytes_total disk_written_bytes_total cpu_pressure_percent io_pressure_percent memory_pressure_percent
quota_throttled_s""".split()
START_NS = 5_000_000_000_000
SECOND_NS = 1_000_000_000


def readings(keys, known, moment_ns, unsupported=()):
    return {"read_ns": moment_ns, "readings": {key: known.get(key) for key in keys},
            "unsupported": list(unsupported), "when_ns": {}}


def gpu(moment_ns, known, loads=(), state="good", note="", processes=None, unsupported=()):
    return {"state": state, "note": note, **readings(METRICS, known, moment_ns, unsupported),
            "loads_ns_ns_percent": [[START_NS + round(a * SECOND_NS), START_NS + round(b * SECOND_NS), percent]
                                    for a, b, percent in loads], "processes": processes}


def square_mean(start, end):
    """Mean of the wave between two moments, in percent."""
    def on(moment):
        periods = int(moment / 0.4 + 1e-9)
        return periods * 0.28 + min(moment - periods * 0.4, 0.28)
    return 100 * (on(end) - on(start)) / (end - start)


GOOD = {"power_w": 400, "power_limit_w": 500, "memory_used_bytes": 20e9, "memory_total_bytes": 25e9,
        "temperature_c": 65, "throttle": 0, "sm_clock_mhz": 1900, "memory_clock_mhz": 9000}


def square(second, moment_ns):
    steps = [second - 1 + i / 50 for i in range(50)] if second else []
    return [gpu(moment_ns, dict(GOOD, util_percent=70), [(a, a + 0.02, square_mean(a, a + 0.02)) for a in steps])]


def dips(second, moment_ns):
    percent = 5 if second % 15 in (8, 9) else 95
    return [gpu(moment_ns, dict(GOOD, util_percent=percent), [(second - 1, second, percent)] if second else [])]


def odd(second, moment_ns):
    lost = second > 5
    first = gpu(moment_ns, {} if lost else {"util_percent": 50}, state="lost" if lost else "good",
                note="fell off the \"bus\"" if lost else "", unsupported=["fan_percent"])
    other = gpu(moment_ns, dict(GOOD, util_percent=90, throttle=1 + 2),
                processes=[{"pid": 7, "name": "a \"b\"\\\t\u00e9", "memory_bytes": 1e9, "util_percent": None}])
    return [first, other]


def parts(second, moment_ns):
    return [gpu(moment_ns, dict(GOOD, util_percent=percent)) for percent in (90, 91, 40)]


SCENES = {"square": (60, square), "dips": (180, dips), "odd": (12, odd), "parts": (10, parts),
          "host": (10, lambda second, moment_ns: [])}


def describe(scene, count):
    if scene == "parts":
        whole = {"index": 0, "vendor": "made", "name": "Made up", "id": "GPU-0", "part": ""}
        return [whole] + [dict(whole, id=f"MIG-{number}", part="MIG 1g.10gb", part_number=number) for number in (0, 2)]
    names = ["Made \"up\", one", "Made\tup two"][:count]
    return [{"index": i, "vendor": "made", "name": name, "id": f"GPU-{i}", "part": "MIG 1g.10gb" if i else ""}
            for i, name in enumerate(names)]


def main(path, scene):
    seconds, frame = SCENES[scene]
    known = {"cpu_percent": 40, "job_cpu_percent": 250, "job_memory_bytes": 3e9} if scene == "host" else {"cpu_percent": 40}
    gpus = describe(scene, len(frame(0, START_NS)))
    with open(path, "w") as file:
        def write(value):
            file.write(json.dumps(value) + "\n")
        write({"schema": 1, "recording": "stoker monitor", "version": "0", "interval_s": 1, "pid": None,
               "absent": "" if gpus else "no GPU of this kind\nnor of that", "gpus": gpus})
        for second in range(seconds + 1):
            moment_ns = START_NS + second * SECOND_NS
            write({"number": second, "from_ns": START_NS + max(second - 1, 0) * SECOND_NS, "to_ns": moment_ns,
                   "clock_s": 1.7e9 + second, "gpus": frame(second, moment_ns),
                   "host": {**readings(HOST, known, moment_ns), "core_percent": [40.0, None]}})
        write({"frames": seconds + 1})


main(*sys.argv[1:])
