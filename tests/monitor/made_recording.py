"""A recording of GPUs that are made up, in which every number is known: for screens."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
METRICS = re.findall(r'X\(\w+, "(\w+)",', (ROOT / "include/stoker/monitor.h").read_text())
HOST_FRAME = re.search(r"typedef struct stk_host_frame \{(.*?)int32_t core_count", (ROOT / "include/stoker/monitor.h").read_text(),
                       re.S)[1]
HOST_KEYS = re.findall(r"\b(\w+)(?=[,;])", re.sub(r"/\*.*?\*/", "", HOST_FRAME, flags=re.S))

START_NS = 1_000_000_000_000
TOTALS = {"memory_total_bytes": 85e9, "power_limit_w": 500, "temperature_limit_c": 90, "sm_clock_max_mhz": 2000,
          "memory_clock_max_mhz": 7000}
HOST = {"cpu_percent": 37, "cpu_max_percent": 88, "memory_used_bytes": 12.5e9, "memory_total_bytes": 64e9,
        "cpu_pressure_percent": 3, "io_pressure_percent": 2, "memory_pressure_percent": 1}
JOB = {"job_cpu_percent": 250, "job_memory_bytes": 3.2e9}


def readings(keys, values, moment_ns):
    return {"read_ns": moment_ns, "readings": {key: values.get(key) for key in keys}, "unsupported": [], "when_ns": {}}


def gpu_frame(number, index, moment_ns, interval_ns, options):
    state = options.get("states", {}).get(index, "good")
    unknown = index in options.get("unknown", ()) or state != "good"
    util = 90 if (number // 4) % 2 == 0 else 30
    values = {} if unknown else {
        **TOTALS, "util_percent": util, "power_w": 400.0 + index, "memory_used_bytes": (40 + index) * 1e9,
        "temperature_c": 60 + index, "sm_clock_mhz": 1900 + index, "memory_clock_mhz": 7000,
        "throttle": options.get("throttle", {}).get(index, 0), "pcie_received_bytes_total": 2e9 * number,
        "pcie_sent_bytes_total": 1e9 * number}
    loads = [] if unknown or not number else [[moment_ns - interval_ns, moment_ns, util]]
    processes = [{"pid": 4000 + index, "name": options.get("process", "trainer"), "memory_bytes": 39e9,
                  "util_percent": None if index else util}]
    return {"state": state, "note": options.get("notes", {}).get(index, ""), **readings(METRICS, values, moment_ns),
            "loads_ns_ns_percent": loads, "processes": None if unknown else processes}


def write(path, gpus, frames=30, interval_s=1.0, **options):
    """options: states, notes, throttle {index: …}, unknown {index}, names [text], job, process."""
    names = options.get("names", [f"Made up {i}" for i in range(gpus)])
    interval_ns = int(interval_s * 1e9)
    with open(path, "w", encoding="utf-8") as file:
        head = {"schema": 1, "recording": "stoker monitor", "version": "0", "interval_s": interval_s, "pid": None,
                "absent": "", "gpus": [{"index": i, "vendor": "made", "name": names[i], "id": f"GPU-{i}", "part": ""}
                                       for i in range(gpus)]}
        print(json.dumps(head), file=file)
        for number in range(frames):
            to_ns = START_NS + number * interval_ns
            host = {**HOST, **(JOB if options.get("job") else {})}
            frame = {"number": number, "from_ns": to_ns - (interval_ns if number else 0), "to_ns": to_ns,
                     "clock_s": 1.7e9 + number * interval_s,
                     "gpus": [gpu_frame(number, i, to_ns, interval_ns, options) for i in range(gpus)],
                     "host": {**readings(HOST_KEYS, host, to_ns), "core_percent": [37.0, 88.0]}}
            print(json.dumps(frame), file=file)
        print(json.dumps({"frames": frames}), file=file)
