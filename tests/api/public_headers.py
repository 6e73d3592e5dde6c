"""The public functions as the headers of include/stoker declare them; for the tests of this folder."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
SYMBOLS = pathlib.Path(__file__).resolve().parent / "symbols.list"

Function = collections.namedtuple("Function", "name returns parameters comment header")
Parameter = collections.namedtuple("Parameter", "type name")

PROTOTYPE = re.compile(r"STK_API\s+(?P<returns>[\w\s]+?[\s*]+)(?P<name>stk_\w+)\((?P<parameters>[^;]*)\);")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def headers():
    return sorted((INCLUDE / "stoker").glob("*.h"))


def split_parameter(text):
    match = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split()))
    return Parameter(match[1].strip(), match[2])


def read_functions(text, header=""):
    """Functions of a header. One comment may stand before several prototypes that follow each other."""
    functions, comment, end = [], "", 0
    for match in PROTOTYPE.finditer(text):
        between = text[end:match.start()]
        comments = COMMENT.findall(between)
        if between.strip():
            comment = comments[-1] if comments and between.rstrip().endswith("*/") else ""
        parameters = match["parameters"].strip()
        functions.append(Function(match["name"], " ".join(match["returns"].split()),
                                  [split_parameter(p) for p in parameters.split(",")] if parameters != "void" else [],
                                  " ".join(comment.replace("\n *", "\n").split()), header))
        end = match.end()
    return functions


def functions():
    return [f for header in headers() for f in read_functions(header.read_text(), header.name)]


def listed_symbols():
    lines = (line.partition("#")[0].strip() for line in SYMBOLS.read_text().splitlines())
    return [line for line in lines if line]


def is_pointer(parameter):
    return parameter.type.endswith("*") or parameter.type.endswith("_sink")
