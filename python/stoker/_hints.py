# SPDX-License-Identifier: Apache-2.0
"""Hints of the library, which speak of settings files and of the command line, in the words of Python: data.image_size=64 is
image_size=64, --resume is resume=True. Read when something has failed, not before."""
import re

from ._settings import keyword_of

# What only a command line has, and what does it here.
_WORDS = (
    (r"`?stoker train --run (\S+) --resume`?", r"stoker.train(run='\1', resume=True)"),
    (r"; to try each: --grid \S+", "; to try each, train in a loop"),
    (r"all settings: stoker train --help", "help(stoker.Loader) and `stoker train --help` list the settings"),
    (r"without --resume", "without resume=True"),
    (r"--resume\b", "resume=True"),
    (r"--checkpoint\b", "checkpoint="),
)
_SETTING = re.compile(r"(?<![\w./-])([a-z_]+(?:\.[a-z0-9_]+)+)(?:=('[^']*'|\[[^\]]*\]|[^\s;,()]+(?:,[^\s;,()]+)*|))?")


def _value(text):
    """A value of a setting as Python has it; placeholders such as N or FILE stay."""
    if text in ("true", "false"):
        return text.capitalize()
    if text == "WxH":
        return "(H, W)"
    if text[:1] in "'[" or re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?|[A-Z]+|…", text):
        return text
    return "|".join(f"'{word}'" for word in text.split("|"))


def _keyword(found):
    key, value = found[1].rstrip("."), found[2]
    keyword = keyword_of(key)
    if keyword is None or key != found[1]:
        return found[0]
    return keyword if value is None else f"{keyword}={_value(value)}"


def in_python(hint):
    """The hint with keywords instead of settings and options."""
    for word, here in _WORDS:
        hint = re.sub(word, here, hint)
    return _SETTING.sub(_keyword, hint)
