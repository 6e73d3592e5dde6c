"""test_pynvml.py PROGRAM LIBRARY: NVIDIA's own Python package nvidia-ml-py loads the fake driver and is told the
same numbers as our reader (PROGRAM prints them). It declares NVML's structs independently of us.

Skipped where the package is not to be had.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
CACHE = pathlib.Path(__file__).resolve().parents[2] / "build/cache/pynvml"
SCRIPT = """
* util_percent const 73
* memory_busy_percent const 41
* sm_active_percent const 66
* tensor_active_percent const 33
* dram_active_percent const 22
* power_w const 312
* power_limit_w const 400
* memory_used_bytes const 20e9
* memory_total_bytes const 80e9
* temperature_c const 64
* temperature_limit_c const 92
* memory_temperature_c const 77
* fan_percent const 45
* sm_clock_mhz const 1755
* sm_clock_max_mhz const 1980
* memory_clock_mhz const 2619
* memory_clock_max_mhz const 2620
* throttle const 1
* throttled_power_s const 0
* throttled_heat_s const 0
* energy_j const 0
* pcie_sent_bytes_total const 0
* pcie_received_bytes_total const 0
* link_generation const 4
* link_generation_max const 5
* link_width const 8
* link_width_max const 16
1 util_percent const 12
1 power_w const 77
gpus 2
counters 5e9
process 0 1 3e9 50
process 0 2 4e9 23
"""


def find_package():
    """The module, as installed or as tools/setup_pynvml put it into build/cache; None when it is nowhere."""
    sys.path += map(str, CACHE.glob("lib/python*/site-packages"))
    try:
        import pynvml
        return pynvml
    except ImportError:
        return None


def read_ours():
    """{gpu: {key: value}} as our reader tells it; processes as {pid: (bytes, percent)}."""
    output = subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout
    gpus = {}
    for line in output.splitlines():
        number, key, value = line.split(" ", 2)
        facts = gpus.setdefault(int(number), {"processes": {}})
        if key == "process":
            pid, used, load = value.split()
            facts["processes"][int(pid)] = (float(used), float(load))
        else:
            facts[key] = value if key in ("name", "id") else float(value)
    return gpus


def read_gpm(nvml, handle):
    """Activity between two samples, 0.2 s apart."""
    samples = [nvml.nvmlGpmSampleAlloc() for _ in range(2)]
    for sample in samples:
        nvml.nvmlGpmSampleGet(handle, sample)
        time.sleep(0.2)
    wanted = nvml.c_nvmlGpmMetricsGet_t()
    wanted.version = nvml.NVML_GPM_METRICS_GET_VERSION
    wanted.numMetrics = 3
    wanted.sample1, wanted.sample2 = samples
    ids = (nvml.NVML_GPM_METRIC_SM_UTIL, nvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL, nvml.NVML_GPM_METRIC_DRAM_BW_UTIL)
    for place, number in zip(wanted.metrics, ids):
        place.metricId = number
    nvml.nvmlGpmMetricsGet(wanted)
    values = [wanted.metrics[i].value for i in range(3)]
    for sample in samples:
        nvml.nvmlGpmSampleFree(sample)
    return dict(zip(("sm_active_percent", "tensor_active_percent", "dram_active_percent"), values))


def read_theirs(nvml, number):
    handle = nvml.nvmlDeviceGetHandleByIndex(number)
    fields = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_POWER_INSTANT, nvml.NVML_FI_DEV_MEMORY_TEMP,
                                                    nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES])
    kind, samples = nvml.nvmlDeviceGetSamples(handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, 0)
    assert kind == nvml.NVML_VALUE_TYPE_UNSIGNED_INT
    memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    assert memory.used == nvml.nvmlDeviceGetMemoryInfo(handle).used
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    assert samples[-1].sampleValue.uiVal == rates.gpu
    loads = {load.pid: load.smUtil for load in nvml.nvmlDeviceGetProcessUtilization(handle, 0)} if number == 0 else {}
    return {
        "name": nvml.nvmlDeviceGetName(handle), "id": nvml.nvmlDeviceGetUUID(handle),
        "util_percent": rates.gpu, "memory_busy_percent": rates.memory,
        "power_w": fields[0].value.uiVal / 1000, "power_limit_w": nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "energy_j": nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
        "memory_used_bytes": memory.used, "memory_total_bytes": memory.total,
        "temperature_c": nvml.nvmlDeviceGetTemperatureV1(handle, nvml.NVML_TEMPERATURE_GPU),
        "temperature_limit_c": nvml.nvmlDeviceGetTemperatureThreshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        "memory_temperature_c": fields[1].value.uiVal, "fan_percent": nvml.nvmlDeviceGetFanSpeed(handle),
        "sm_clock_mhz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "sm_clock_max_mhz": nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_clock_mhz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "memory_clock_max_mhz": nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "throttle": int(bool(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle) & nvml.nvmlClocksEventReasonSwPowerCap)),
        "throttled_power_s": nvml.nvmlDeviceGetViolationStatus(handle, nvml.NVML_PERF_POLICY_POWER).violationTime / 1e9,
        "throttled_heat_s": nvml.nvmlDeviceGetViolationStatus(handle, nvml.NVML_PERF_POLICY_THERMAL).violationTime / 1e9,
        "pcie_sent_bytes_total": fields[2].value.ullVal, "pcie_received_bytes_total": fields[3].value.ullVal,
        "link_generation": nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
        "link_generation_max": nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle),
        "link_width": nvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
        "link_width_max": nvml.nvmlDeviceGetMaxPcieLinkWidth(handle),
        "processes": {p.pid: (p.usedGpuMemory, loads[p.pid]) for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)},
        **read_gpm(nvml, handle),
    }


class SameNumbers(unittest.TestCase):
    def test_every_number(self):
        nvml = find_package()
        if nvml is None:
            self.skipTest("nvidia-ml-py is not installed: tools/setup_pynvml")
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script"
            script.write_text(SCRIPT)
            os.environ["STOKER_FAKE_NVML"] = str(script)
            os.environ["STOKER_NVML"] = str(LIBRARY)
            ours = read_ours()
            real = ctypes.CDLL  # it asks for libnvidia-ml.so.1, wherever that is
            nvml.CDLL = lambda name, *rest: real(str(LIBRARY) if "nvidia-ml" in name else name, *rest)
            nvml.nvmlInit()
            self.assertEqual(nvml.nvmlDeviceGetCount(), len(ours))
            for number, facts in ours.items():
                theirs = read_theirs(nvml, number)
                self.assertEqual(sorted(facts), sorted(theirs))
                for key in facts:
                    with self.subTest(gpu=number, key=key):
                        if "active" in key:  # a mean over other moments: rounded otherwise
                            self.assertAlmostEqual(facts[key], theirs[key], places=9)
                        else:
                            self.assertEqual(facts[key], theirs[key])
            nvml.nvmlShutdown()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
