# SPDX-License-Identifier: Apache-2.0
# Python imports this at its start, because `stoker doctor` put its folder in front of PYTHONPATH. It starts the hook, takes the folder
# off sys.path again and imports the sitecustomize that would have been imported without it. Any Python may read this file, also one
# that is too old for the hook: syntax of all versions.
import os
import sys


def start():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("STOKER_DOCTOR_DIR")
    if folder and sys.version_info >= (3, 9) and sys.implementation.name == "cpython":
        try:
            import stoker_hook
            stoker_hook.start(folder)
        except Exception:
            pass
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]


start()
ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # the next one; Python takes what is in sys.modules now
except ImportError as error:
    if getattr(error, "name", "sitecustomize") != "sitecustomize":
        raise
    if ours is not None:
        sys.modules["sitecustomize"] = ours
