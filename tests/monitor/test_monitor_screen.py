#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The full screen of stoker monitor in a real terminal (tmux): what is on it, keys, sizes, and how it is left."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import made_recording

STOKER = os.environ["STOKER"]
LIMIT_S = float(os.environ.get("LIMIT_S", "30"))
BRAILLE = re.compile("[\u2801-\u28ff]")


def find_reason():
    """Why there is nothing to test here; None: there is."""
    if not shutil.which("tmux"):
        return "there is no tmux"
    help_text = subprocess.run([STOKER, "monitor", "--help"], capture_output=True, text=True, check=True).stdout
    return "built without ncurses" if "built without" in help_text else None


class Terminal:
    """A shell in a tmux server of its own."""
    def __init__(self, folder, width, height):
        self.socket = os.path.join(folder, "tmux")
        self.width, self.height = width, height
        keep = {key: os.environ[key] for key in ("PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR") if key in os.environ}
        self.environment = {**keep, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TZ": "UTC", "STOKER": STOKER, "HOME": folder, "HISTFILE": ""}
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", folder, "bash --norc --noprofile")
        self.wait_for(r"[#$] *$")
        self.run("PS1='$ '; clear")
        self.wait_for(r"\A\$ *\n")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], capture_output=True, text=True,
                              env=self.environment, timeout=LIMIT_S, check=True)
        return done.stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options).split("\n")[:self.height]

    def wait_for(self, pattern, *options):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            lines = self.screen(*options)
            if re.search(pattern, "\n".join(lines), re.M):
                return lines
            time.sleep(0.05)
        raise AssertionError(f"'{pattern}' did not come:\n" + "\n".join(self.screen(*options)))

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def key(self, *names):
        self.tmux("send-keys", *names)

    def run(self, text):
        self.type(text)
        self.key("Enter")

    def flags(self):
        return self.tmux("display-message", "-p", "#{cursor_flag} #{alternate_on}").strip()

    def close(self):
        self.tmux("kill-server")


class ScreenTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def open(self, width=80, height=24):
        terminal = Terminal(self.folder, width, height)
        self.addCleanup(terminal.close)
        return terminal

    def recording(self, gpus, **options):
        made_recording.write(os.path.join(self.folder, "r.jsonl"), gpus, **options)

    def replay(self, terminal, before="", after=""):
        """To the last frame, which stays."""
        terminal.run(f"{before} $STOKER monitor --replay r.jsonl {after}")
        terminal.wait_for(r"  recording")
        terminal.key("f")
        lines, before = terminal.wait_for("end of the recording"), None
        while lines != before:  # it may be half drawn
            time.sleep(0.05)
            lines, before = terminal.screen(), lines
        return lines

    def check_lines(self, lines, width):
        """Nothing is cut, wrapped or left over from another size."""
        for line in lines:
            self.assertLessEqual(len(line), width, line)
            self.assertNotRegex(line, "[\x00-\x1f\x7f]")
        self.assertRegex(lines[0], r"^stoker monitor  \d\d:\d\d:\d\d  \d+ s")
        self.assertRegex(lines[-1], "^q quit   h help")
        self.assertEqual(sum(line.startswith("stoker monitor") for line in lines), 1)
        self.assertEqual(sum(line.startswith("host: CPU ") for line in lines), 1)
        self.assertEqual(sum(line.startswith("so far: ") for line in lines), 1)


class Pictures(ScreenTest):
    def test_demo_at_three_sizes_and_while_resizing(self):
        terminal = self.open()
        terminal.run("$STOKER monitor --demo --interval 0.1")
        terminal.wait_for("so far: .*[a-z]")
        for width, height in ((80, 24), (120, 40), (200, 60), (100, 30), (80, 24)):
            terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
            terminal.width, terminal.height = width, height
            terminal.wait_for(r"\Astoker monitor(.*\n){%d}q quit" % (height - 1))
            time.sleep(0.3)
            lines = terminal.screen()
            self.check_lines(lines, width)
            text = "\n".join(lines)
            for i, name in enumerate(("well used", "data starved", "hot", "unreliable")):
                self.assertEqual(text.count(f"GPU {i}  Demo 80GB, {name}"), 1, text)
            self.assertEqual(len(re.findall(r"\bmemory █", text)), 4, text)
            self.assertGreaterEqual(text.count("python3 train.py"), 2, text)
            self.assertRegex(text, BRAILLE)
        self.assertEqual(text.count(" W  "), 4)  # three rows each
        for _ in range(20):  # while it draws
            for width in (90, 60, 41, 80):
                terminal.tmux("resize-window", "-x", str(width), "-y", str(width // 4))
        terminal.tmux("resize-window", "-x", "80", "-y", "24")
        terminal.height = 24
        terminal.wait_for(r"\Astoker monitor(.*\n){23}q quit")
        time.sleep(0.3)
        self.check_lines(terminal.screen(), 80)

    def test_one_gpu_to_the_letter(self):
        self.recording(1, job=True)
        lines = self.replay(self.open())
        self.check_lines(lines, 80)
        self.assertEqual(lines[0], "stoker monitor  22:13:49  29 s  end of the recording")
        self.assertEqual(lines[2:5], [
            "GPU 0  Made up 0",
            "util   █████▍············          30 %  memory ████████▌·········  40.0/85.0 GB",
            "power  ██████████████▍···     400/500 W  temp   ████████████······      60/90 °C"])
        self.assertEqual(lines[10], " " * 24 + "⢸⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿" + " " * 26 + "⢸⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿")
        self.assertEqual(lines[11], "SM 1900/2000 MHz  mem 7000/7000 MHz  RX 2.0 GB/s  TX 1.0 GB/s")
        self.assertEqual(lines[13:15], ["GPU       pid memory GB util %  process",
                                        "  0      4000      39.0     30  trainer"])
        self.assertIn("host: CPU 37 %, busiest 88  memory 12.5/64.0 GB  job 2.5 CPUs, 3.2 GB", lines)
        self.assertIn("      pressure CPU 3 I/O 2 mem 1 %", lines)
        self.assertTrue(lines[20].startswith("so far: data starved (input bound): GPU utilization 63 %"), lines[20])

    def test_states_and_unknown_numbers(self):
        self.recording(9, states={3: "lost", 4: "hung"}, notes={3: "fell off the bus"}, throttle={5: 3}, unknown={6})
        lines = self.replay(self.open())
        self.check_lines(lines, 80)
        rows = {line[:3].strip(): line for line in lines[3:12]}
        self.assertEqual(sorted(rows), [str(i) for i in range(9)])
        dashes = "              -         -/-       -/-     -      -"
        self.assertEqual(rows["3"], "  3" + dashes + "  lost: fell off the bus")
        self.assertEqual(rows["4"], "  4" + dashes + "  hung")
        self.assertTrue(rows["5"].endswith("   1905  throttled: power, thermal"), rows["5"])
        self.assertEqual(rows["6"], "  6" + dashes)
        self.assertRegex(rows["8"], "^  8 ███·······  30   48.0/85.0   408/500    68   1908 +" + BRAILLE.pattern)

    def test_names_that_would_spoil_the_screen(self):
        self.recording(2, names=["one\x1b[2J\x07\ttwo", "汉字 ünï" + "x" * 50], process="a\nb\x1b[31mc")
        lines = self.replay(self.open())
        self.check_lines(lines, 80)
        text = "\n".join(lines)
        self.assertIn("GPU 0  one?[2J??two", text)
        self.assertIn("GPU 1  汉字 ünïxxx", text)
        self.assertIn("a?b?[31mc", text)

    def test_without_utf8(self):
        self.recording(1)
        lines = self.replay(self.open(), before="LC_ALL=C")
        self.check_lines(lines, 80)
        text = "\n".join(lines)
        self.assertTrue(text.isascii(), text)
        self.assertIn("util   #####.............          30 %", text)
        self.assertIn(" 60/90 C", text)
        self.assertIn("||||", text)

    def test_colours(self):
        self.recording(1)
        terminal = self.open()
        self.replay(terminal)
        self.assertRegex("\n".join(terminal.screen("-e")), "\x1b\\[[0-9;]*31m")
        terminal.key("q")
        terminal.wait_for(r"^verdict: ")
        terminal.run("clear")
        terminal.wait_for(r"\A\$ *\n\n")
        self.replay(terminal, before="NO_COLOR=1")
        self.assertNotRegex("\n".join(terminal.screen("-e")), "\x1b\\[[0-9;]*3[0-8]")

    def test_tiny_terminals(self):
        self.recording(3, states={1: "lost"})
        terminal = self.open(30, 6)
        self.replay_tiny(terminal)
        for width, height in ((1, 1), (8, 3), (20, 2), (500, 5), (80, 12), (80, 24)):
            terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
            time.sleep(0.15)
        terminal.height = 24
        self.check_lines(terminal.wait_for(r"\Astoker monitor(.*\n){23}q quit"), 80)

    def replay_tiny(self, terminal):
        terminal.run("$STOKER monitor --replay r.jsonl")
        terminal.wait_for("^q quit")
        terminal.key("f")


class Keys(ScreenTest):
    def shown(self, lines):
        return [int(line[:3]) for line in lines[3:] if re.match(r" [ \d]\d [▉-▏█]", line)]

    def test_scrolling(self):
        self.recording(40)
        terminal = self.open()
        first = self.shown(self.replay(terminal))
        self.assertEqual(first, list(range(len(first))))
        self.assertGreater(len(first), 7)
        for keys, at in ((["j"], 1), (["Down"], 2), (["k"], 1), (["Up"], 0), (["Up"], 0), (["NPage"], len(first)),
                         (["NPage"] * 9, 40 - len(first)), (["Down"], 40 - len(first)), (["PPage"], 40 - 2 * len(first)),
                         (["Home"], 0), (["End"], 40 - len(first))):
            terminal.key(*keys)
            wanted, end = list(range(at, at + len(first))), time.monotonic() + LIMIT_S
            lines = terminal.wait_for(f"  GPUs {at + 1} to {at + len(first)} of 40")
            while self.shown(lines) != wanted and time.monotonic() < end:  # it may be half drawn
                lines = terminal.screen()
            self.assertEqual(self.shown(lines), wanted)

    def test_scrolling_two_columns(self):
        self.recording(41)
        terminal = self.open(170, 24)
        lines = self.replay(terminal)
        last = int(re.search(r"GPUs 1 to (\d+) of 41", lines[0])[1])
        self.assertEqual(last % 2, 0)
        terminal.key("j")
        terminal.wait_for(f"  GPUs 3 to {last + 2} of 41")
        terminal.key("End")
        self.assertRegex("\n".join(terminal.wait_for(r"  GPUs \d+ to 41 of 41")), "\n 40 ")

    def test_pause_and_help(self):
        terminal = self.open()
        terminal.run("$STOKER monitor --demo --interval 0.1")
        terminal.wait_for("host: ")
        terminal.key("p")
        terminal.wait_for(r"\Astoker.*paused")
        frozen = terminal.screen()
        time.sleep(1.3)
        self.assertEqual(terminal.screen(), frozen)
        terminal.key("h")
        lines = terminal.wait_for("^q quit and summarize   p pause")
        self.assertEqual(lines[:-1], frozen[:-1])
        terminal.key("?", "p")
        terminal.wait_for("^q quit   h help")
        terminal.wait_for(r"\A(?!.*paused)")
        self.assertNotEqual(terminal.screen()[0], frozen[0])


class Leaving(ScreenTest):
    """After each: the terminal as it was, cursor and normal screen back, the table printed."""
    def leave(self, act, options="--demo --interval 0.1", wait="host: ", prompt=r"^\$ *\Z|^\$ *\n+\Z"):
        terminal = self.open()
        terminal.run("stty -g >before; $STOKER monitor " + options + "; echo status $? | tee status; stty -g >after")
        terminal.wait_for(wait)
        self.assertEqual(terminal.flags(), "0 1")
        act(terminal)
        lines = terminal.wait_for(r"^status \d+")
        self.assertEqual(terminal.flags(), "1 0")
        terminal.wait_for(prompt)
        before, after = ((pathlib.Path(self.folder) / name).read_text() for name in ("before", "after"))
        self.assertEqual(before, after)
        return (pathlib.Path(self.folder) / "status").read_text().strip(), "\n".join(lines)

    def signal(self, number):
        return lambda terminal: os.kill(int(self.find()), number)

    def find(self):
        """Ours: its working folder is the test's."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "cwd") == self.folder and (entry / "comm").read_text() == "stoker\n":
                    return entry.name
            except OSError:
                continue
        raise AssertionError("it does not run")

    def test_q(self):
        status, text = self.leave(lambda terminal: terminal.key("q"))
        self.assertEqual(status, "status 0")
        self.assertIn("GPU 3: ", text)

    def test_ctrl_c(self):
        status, text = self.leave(lambda terminal: terminal.key("C-c"))
        self.assertEqual(status, "status 0")
        self.assertIn("GPU 3: ", text)

    def test_term(self):
        status, text = self.leave(self.signal(signal.SIGTERM))
        self.assertEqual(status, "status 0")
        self.assertIn("GPU 3: ", text)

    def test_two_signals(self):
        status, _ = self.leave(self.twice, prompt=r"^\$ *$")  # parts of a frame that was being drawn may be around it
        self.assertIn(status, ("status 130", "status 0"))  # at once, or it was faster

    def twice(self, _):
        pid = int(self.find())
        os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)

    def test_quit_signal(self):
        status, _ = self.leave(self.signal(signal.SIGQUIT))
        self.assertEqual(status, "status 131")

    def test_end_by_itself(self):
        status, text = self.leave(lambda terminal: None, "--demo --interval 0.1 --duration 1.5")
        self.assertEqual(status, "status 0")
        self.assertIn("GPU 3: ", text)

    def test_damaged_recording(self):
        self.recording(1)
        with open(os.path.join(self.folder, "r.jsonl"), "r+", encoding="utf-8") as file:
            whole = file.readlines()
            file.seek(0)
            file.truncate()
            file.writelines(whole[:9] + ["{broken\n"])

        def act(terminal):
            terminal.key("f")
            terminal.wait_for("end of the recording")
            terminal.key("q")
        status, text = self.leave(act, "--replay r.jsonl")
        self.assertEqual(status, "status 1")
        self.assertIn("r.jsonl:10", text)

    def test_ctrl_z(self):
        terminal = self.open()
        terminal.run("stty -g >before")
        terminal.run("$STOKER monitor --demo --interval 0.1 --record z.jsonl")
        terminal.wait_for("host: ")
        for _ in range(2):
            terminal.key("C-z")
            terminal.wait_for("Stopped")
            self.assertEqual(terminal.flags(), "1 0")
            terminal.run("stty -g >after; cmp before after && echo same")
            terminal.wait_for("^same")
            terminal.run("clear; fg")
            self.check_lines(terminal.wait_for(r"\Astoker monitor(.*\n){23}q quit"), 80)
            self.assertEqual(terminal.flags(), "0 1")
        terminal.key("C-z")
        terminal.wait_for("Stopped")
        terminal.run("clear; bg; echo mine")  # in the background it must not draw
        terminal.wait_for("^mine")
        time.sleep(0.5)
        self.assertNotIn("host: ", "\n".join(terminal.screen()))
        terminal.run("fg")
        terminal.wait_for(r"\Astoker monitor(.*\n){23}q quit")
        terminal.key("q")
        terminal.wait_for("^GPU 3: ")

    def test_ctrl_s_does_not_hold_up_sampling(self):
        terminal = self.open()
        terminal.run("$STOKER monitor --demo --interval 0.1 --record s.jsonl")
        terminal.wait_for("host: ")
        terminal.key("C-s")
        time.sleep(2)
        self.signal(signal.SIGTERM)(terminal)  # and it can be ended
        terminal.wait_for("^GPU 3: ")
        self.assertEqual(terminal.flags(), "1 0")
        frames = [json.loads(line) for line in (pathlib.Path(self.folder) / "s.jsonl").read_text().splitlines()][1:-1]
        lengths = [(frame["to_ns"] - frame["from_ns"]) * 1e-9 for frame in frames[1:-1]]
        self.assertGreater(len(lengths), 15)
        self.assertLess(sum(length > 0.15 for length in lengths), len(lengths) / 4, lengths)

    def test_lines_where_there_is_no_screen(self):
        terminal = self.open()
        for number, (before, after, why) in enumerate((
                ("TERM=dumb", "-v", "TERM is not set"), ("TERM=nonsense", "-v", "no terminfo entry"),
                ("", "-v </dev/null", "not a terminal"), ("", "--line", ""), ("", "-v --output f", "--output"),
                ("", "-v | cat", "not a terminal"))):
            terminal.run(f"clear; {before} $STOKER monitor --demo --gpu 0 --count 1 {after}; echo done {number}")
            text = "\n".join(terminal.wait_for(f"^done {number}"))
            self.assertIn(why, text)
            self.assertTrue("monitored for" in text or "--output" in after, text)
            self.assertEqual(terminal.flags(), "1 0")


if __name__ == "__main__":
    reason = find_reason()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
