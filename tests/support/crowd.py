"""How busy the machine is: limits of time are those of one that is not, and longer where others want the CPUs, too."""
import os


def crowd():
    """1 with up to two runnable threads for each CPU, else as many times more as there are."""
    return max(1.0, os.getloadavg()[0] / (2 * len(os.sched_getaffinity(0))))
