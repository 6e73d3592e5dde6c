#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the GPUs did while a cell of a notebook ran: paste a part between two lines of # %% into a cell."""
import shared

shared.need("stoker")

import stoker

# %% Once, anywhere: a line for each GPU, or why there is none.
stoker.print_gpu_status("before training")

# %% Around a cell that trains: then a table of means and targets, and one sentence on the bottleneck.
with stoker.Monitor() as monitor:
    with stoker.Loader("make:faces?count=200", batch_size=32, image_size=128) as loader:  # your training instead
        for epoch in range(3):
            for images, masks in loader:
                pass
print(monitor)

# %% In the loop, as a number to log: percent of each GPU, [] without one.
print(stoker.gpu_utilization())

# %% How much of the time the script waited for data.
print(monitor.summary()["verdict"] or monitor.summary()["missing_reason"])
