#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker monitor --prometheus: what is served, to whom, and 200 clients that mean no good."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import made_recording
from crowd import crowd

STOKER = os.environ["STOKER"]
CLIENTS = 200
# Sanitizers keep freed memory back, up to 256 MB.
GROWTH_KB = 300000 if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ) else 4000


def ask(port, text=b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", timeout_s=15):
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as client:
        client.sendall(text)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body.decode()


class Server(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *options):
        """Process and port."""
        process = subprocess.Popen([STOKER, "monitor", "--prometheus", "127.0.0.1:0", *options], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(self.stop, process)
        line = process.stderr.readline()
        found = re.match(r"stoker: metrics at http://127\.0\.0\.1:(\d+)/metrics", line)
        self.assertTrue(found, line)
        port = int(found[1])
        end = time.monotonic() + 10
        while ask(port)[0].split()[1] == "503" and time.monotonic() < end:
            time.sleep(0.02)
        return process, port

    def stop(self, process):
        process.terminate()
        out, err = process.communicate(timeout=20)
        return process.returncode, out, err


class Served(Server):
    def test_what_is_served(self):
        process, port = self.start("--demo", "--interval", "0.2")
        head, body = ask(port)
        self.assertTrue(head.startswith("HTTP/1.1 200 "), head)
        self.assertIn("Content-Type: text/plain; version=0.0.4", head)
        values = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
        gpu = '{gpu="0",uuid="GPU-demo-0",name="Demo 80GB, well used",vendor="demo"}'
        self.assertEqual(float(values["stoker_gpu_memory_size_bytes" + gpu]), 85520809984)
        self.assertEqual(float(values["stoker_gpu_memory_clock_hertz" + gpu]), 14001e6)
        self.assertLessEqual(float(values.get("stoker_gpu_utilization_ratio" + gpu, 0)), 1)
        self.assertFalse([key for key in values if key.startswith("stoker_gpu_sm_active_ratio") and 'gpu="3"' in key])
        self.assertNotIn("DCGM_", body)
        self.assertEqual(ask(port, b"HEAD /metrics HTTP/1.0\r\n\r\n")[1], "")
        self.assertIn("/metrics", ask(port, b"GET / HTTP/1.0\r\n\r\n")[1])
        for text, status in ((b"GET /other HTTP/1.0\r\n\r\n", "404"), (b"GET /metrics/ HTTP/1.0\r\n\r\n", "404"),
                             (b"POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "405"),
                             (b"DELETE /metrics HTTP/1.0\r\n\r\n", "405")):
            self.assertEqual(ask(port, text)[0].split()[1], status, text)
        status, out, _ = self.stop(process)
        self.assertEqual(status, 0)
        self.assertTrue(out.startswith("monitored for "), out)  # a server prints no lines

    def test_with_lines_and_names_of_dcgm(self):
        process, port = self.start("--demo", "--interval", "0.2", "--line", "--prometheus-dcgm")
        self.assertRegex(ask(port)[1], r'DCGM_FI_DEV_FB_TOTAL{gpu="0",UUID="GPU-demo-0",modelName="[^"]+"} 81559\b')
        self.assertIn("    time GPU", self.stop(process)[1])

    def test_names_are_escaped(self):
        made_recording.write(os.path.join(self.folder, "r.jsonl"), 1, frames=3, names=['a"b\\c\nd'])
        process = subprocess.run([STOKER, "monitor", "--prometheus", "127.0.0.1:0", "--replay", "r.jsonl", "-q"],
                                 cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(process.stderr, b"")

    def test_addresses(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            for address, words in ((f"127.0.0.1:{port}", "Address already in use"), ("127.0.0.1", "invalid address"),
                                   ("127.0.0.1:", "invalid address"), ("::1:80", "invalid address"),
                                   ("[::1:80", "invalid address"), ("example:80", "invalid address"),
                                   ("127.0.0.1:99999", "invalid address"), ("203.0.113.1:9400", "cannot listen on"),
                                   ("127.0.0.1:123456789", "invalid address")):
                done = subprocess.run([STOKER, "monitor", "--demo", "--prometheus", address, "--count", "1"],
                                      capture_output=True, text=True, timeout=20)
                self.assertNotEqual(done.returncode, 0, address)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")
        done = subprocess.run([STOKER, "monitor", "--demo", "--count", "1", "--prometheus=:0"], capture_output=True,
                              text=True, timeout=20)
        self.assertIn("http://127.0.0.1:", done.stderr)  # without a host it is loopback
        done = subprocess.run([STOKER, "monitor", "--demo", "--prometheus-dcgm"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)

    def test_an_address_for_everybody_is_warned_of(self):
        for address, everybody in (("0.0.0.0:0", True), ("[::]:0", True), ("[::ffff:0.0.0.0]:0", True), ("127.0.0.1:0", False),
                                   ("[::1]:0", False)):
            for quiet in ((), ("-q",)):
                done = subprocess.run([STOKER, "monitor", "--demo", "--count", "1", "--interval", "0.1", "--prometheus", address, *quiet],
                                      capture_output=True, text=True, timeout=20)
                if "cannot listen on" in done.stderr and ":" in address.rsplit(":", 1)[0]:
                    continue  # no IPv6 here
                for words in ("warning: everyone who can reach this machine can read the metrics", "--prometheus 127.0.0.1:"):
                    self.assertEqual(words in done.stderr, everybody and not quiet, (address, quiet, done.stderr))

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool (Debian package prometheus)")
    def test_promtool(self):
        _, port = self.start("--demo", "--interval", "0.2")
        done = subprocess.run(["promtool", "check", "metrics"], input=ask(port)[1], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Hostile(Server):
    def memory_kb(self, process):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def half_open(self, port, stop):
        with socket.create_connection(("127.0.0.1", port)):
            stop.wait()

    def byte_by_byte(self, port, stop):
        with socket.create_connection(("127.0.0.1", port)) as client:
            for byte in b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10000:
                client.send(bytes([byte]))
                if stop.wait(0.2):
                    return

    def huge_head(self, port, stop):
        with socket.create_connection(("127.0.0.1", port)) as client:
            while not stop.wait(0.01):
                client.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * 65536)

    def endless(self, port, stop):
        with socket.create_connection(("127.0.0.1", port)) as client:
            while not stop.wait(0.01):
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)

    def garbage(self, port, stop):
        with socket.create_connection(("127.0.0.1", port)) as client:
            while not stop.wait(0.01):
                client.sendall(os.urandom(4096))

    def never_reads(self, port, stop):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            stop.wait()

    def annoy(self, what, port, stop):
        while not stop.is_set():
            try:
                what(port, stop)
            except OSError:
                stop.wait(0.05)

    def test_slow_clients_do_not_delay_others(self):
        _, port = self.start("--demo", "--interval", "0.2")
        stop = threading.Event()
        kinds = (self.half_open, self.byte_by_byte, self.never_reads)
        threads = [threading.Thread(target=self.annoy, args=(kinds[i % len(kinds)], port, stop)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        took_s = []
        for _ in range(20):
            begin = time.monotonic()
            head, _ = ask(port)
            took_s.append(time.monotonic() - begin)
            self.assertTrue(head.startswith("HTTP/1.1 200 "), head)
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
        print(f"scrapes beside {CLIENTS} slow clients: at most {max(took_s):.3f} s", file=sys.stderr)
        self.assertLess(max(took_s), 1 * crowd())

    def test_clients_that_mean_no_good(self):
        process, port = self.start("--demo", "--interval", "0.1", "--record", "h.jsonl")
        before_kb = self.memory_kb(process)
        stop = threading.Event()
        kinds = (self.half_open, self.byte_by_byte, self.huge_head, self.endless, self.garbage, self.never_reads)
        threads = [threading.Thread(target=self.annoy, args=(kinds[i % len(kinds)], port, stop)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(8)
        grown_kb = self.memory_kb(process) - before_kb
        descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
        stop.set()
        for thread in threads:
            thread.join()
        head, _ = ask(port)  # it still serves
        self.assertTrue(head.startswith("HTTP/1.1 200 "), head)
        self.assertEqual(self.stop(process)[0], 0)
        frames = [json.loads(line) for line in (pathlib.Path(self.folder) / "h.jsonl").read_text().splitlines()][1:-1]
        lengths = [(frame["to_ns"] - frame["from_ns"]) * 1e-9 for frame in frames[1:-1]]
        late = sum(length > 0.15 for length in lengths)
        print(f"{len(lengths)} frames, {late} late; {grown_kb} kB more memory; {descriptors} descriptors", file=sys.stderr)
        self.assertGreater(len(lengths), 40)
        self.assertLessEqual(late, len(lengths) // 4)
        self.assertLess(grown_kb, GROWTH_KB)
        self.assertLess(descriptors, 80)


if __name__ == "__main__":
    done = subprocess.run([STOKER, "monitor", "--demo", "--count", "1", "--prometheus", ":0"], capture_output=True, text=True)
    if "built without libmicrohttpd" in done.stderr:
        print("skipped: built without libmicrohttpd")
        sys.exit(77)
    unittest.main()
