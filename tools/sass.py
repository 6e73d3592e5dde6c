"""SASS of sm_80, as nvdisasm prints it, executed by one group of threads, so that the instructions of its warps can be counted.

Every basic block becomes a Python function of a thread. The threads of a warp that stand lowest go first, so that ways that parted meet again where
the program says. Registers hold 32 bits as whole numbers. Products and sums of FFMA are rounded twice (double, then float): good enough for the
branches, not for the last bit; the division's slow way rounds as everything else does. Arriving at an instruction that is not known here is an error that names it.
"""
import math
import re
import struct

MASK = 0xffffffff
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P[0-9T]) )?\s*([A-Z0-9_.]+)\s*(.*?)\s*;\s*$")
LABEL = re.compile(r"^(\.L_[\w.]+|\$[\w$.]+):\s*$")
ENDS = ("BRA", "EXIT", "BAR", "CALL", "RET", "BSYNC", "BRX", "WARPSYNC")
UNIFORM = ("UMOV", "UIMAD", "UIADD3", "USHF", "ULOP3", "UISETP", "ULEA", "USEL", "UPLOP3", "UPRMT", "UIMNMX", "UP2UR", "UF2FP")
NOTHING = ("NOP", "BSSY", "BSYNC", "WARPSYNC", "BREAK", "YIELD", "DEPBAR", "ERRBAR", "MEMBAR", "BMOV")


def as_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def as_bits(value):
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7f800000 if value > 0 else 0xff800000


def signed(bits):
    return (bits ^ 0x80000000) - 0x80000000


def to_int(value, lowest, highest):
    return 0 if math.isnan(value) else int(max(lowest, min(highest, value))) & MASK


def reciprocal(value):
    return math.inf if value == 0 else 1 / value


def permute(a, selector, b):
    both = b << 32 | a
    return sum((both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i for i in range(4))


def table_expression(expressions):
    """The table of a LOP3 as an expression of a, b, c."""
    a, b, c, table = expressions
    known = {0xc0: "{a}&{b}", 0xfc: "{a}|{b}", 0x3c: "{a}^{b}", 0x96: "{a}^{b}^{c}", 0xf8: "{a}|{b}&{c}", 0xfe: "{a}|{b}|{c}", 0x80: "{a}&{b}&{c}"}
    if table in known:
        return known[table].format(a=a, b=b, c=c)
    terms = ["&".join(x if row >> bit & 1 else f"({x}^M)" for x, bit in ((a, 2), (b, 1), (c, 0))) for row in range(8) if table >> row & 1]
    return "|".join(terms) or "0"


def to_half(value):
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0x7c00 if value > 0 else 0xfc00


NAMES = {"to_half": to_half, "M": MASK, "f": as_float, "b": as_bits, "s": signed, "to_int": to_int, "floor": math.floor, "trunc": math.trunc, "rcp": reciprocal,
         "permute": permute, "inf": math.inf, "nan": math.nan}


class Unknown(Exception):
    pass


class Instruction:
    def __init__(self, address, guard, name, text):
        self.address, self.guard = address, guard
        self.parts = name.split(".")
        self.name = self.parts[0][1:] if self.parts[0] in UNIFORM else self.parts[0]
        self.operands = [word.strip().replace(".reuse", "") for word in re.split(r",\s*(?![^\[]*\])", text)] if text else []
        self.text = f"{name} {text}"

    def has(self, *words):
        return any(word in self.parts for word in words)


def register(word):
    """(list, index) of a register; index None: always 0."""
    match = re.fullmatch(r"(U?)R(Z|\d+)(?:\.\w+)*", word)
    if not match:
        raise Unknown(f"operand {word}")
    return ("U" if match[1] else "R"), (None if match[2] == "Z" else int(match[2]))


def whole(word, next_one=0):
    """An operand as an expression of 32 bits without sign; next_one: the register behind it."""
    if word.startswith("-") and not word.startswith("-0x"):
        return f"(-{whole(word[1:], next_one)}&M)" if not next_one else f"(~{whole(word[1:], next_one)}&M)"
    if word.startswith("~"):
        return f"({whole(word[1:], next_one)}^M)"
    if re.fullmatch(r"-?0x[0-9a-f]+|\d+", word):
        value = int(word, 0)
        return str((value >> 32 * next_one) & MASK)
    constant = re.fullmatch(r"c\[0x([02])\]\[(0x[0-9a-f]+)\]", word)
    if constant:
        return f"{'C' if constant[1] == '0' else 'L'}[{int(constant[2], 16) // 4 + next_one}]"
    kind, index = register(word)
    return "0" if index is None else f"{kind}[{index + next_one}]"


def pair(word):
    return f"({whole(word)}|{whole(word, 1)}<<32)"


def real(word):
    """An operand of a float instruction."""
    if word.startswith("-") and not re.match(r"-[\d.]", word) and word != "-INF":
        return f"(-{real(word[1:])})"
    if word.startswith("|"):
        return f"abs({real(word.strip('|'))})"
    if word.lstrip("+-") in ("INF", "QNAN"):
        return "(-inf)" if word.startswith("-") else "inf" if "INF" in word else "nan"
    if re.fullmatch(r"[-+]?(\d+\.?\d*(e[-+]?\d+)?)", word):
        return f"({float(word)!r})"
    return f"f({whole(word)})"


def truth(word):
    if word.startswith("!"):
        return f"(not {truth(word[1:])})"
    if word in ("PT", "UPT"):
        return "True"
    return f"{'Q' if word[0] == 'U' else 'P'}[{int(word[-1])}]"


def is_truth(word):
    return bool(re.fullmatch(r"!?U?P[0-9T]", word))


def assign(word, expression, offset=0):
    kind, index = register(word)
    return [] if index is None else [f"{kind}[{index + offset}]={expression}"]


def decide(word, expression):
    return [] if word in ("PT", "UPT") else [f"{truth(word)}={expression}"]


COMPARE = {"LT": "<", "GT": ">", "GE": ">=", "LE": "<=", "EQ": "==", "NE": "!="}


def add(i):
    """IADD3, IMAD and LEA: sums with carries in and out."""
    words = list(i.operands)
    target, outs = words.pop(0), []
    while is_truth(words[0]):
        outs.append(words.pop(0))
    carries = [words.pop() for _ in range(len(words)) if is_truth(words[-1])] if i.has("X") else []
    words = [word for word in words if not is_truth(word)]
    carry = "".join(f"+{truth(word)}" for word in carries)
    sign = "s" if not i.has("U32") else ""
    if i.name == "IADD3":
        # -x is ~x + 1, whose carry counts
        total = "+".join(f"(({whole(w[1:])}^M)+1)" if w[0] == "-" and w[1] in "URc" else whole(w) for w in words)
    elif i.name == "LEA":
        shift = int(words[-1], 0)
        if i.has("SX32"):
            total = f"((s({whole(words[0])})<<{shift}>>32)&M)+{whole(words[1])}"
        elif i.has("HI"):
            total = f"(({whole(words[2])}<<32|{whole(words[0])})<<{shift}>>32&M)+{whole(words[1])}"
        else:
            total = f"({whole(words[0])}<<{shift}&M)+{whole(words[1])}"
    elif i.has("WIDE"):
        total = f"({sign}({whole(words[0])})*{sign}({whole(words[1])})+{pair(words[2])})"
        lines = [f"t={total}"] + assign(target, "t&M") + assign(target, "t>>32&M", 1)
        return lines + [line for out in outs for line in decide(out, "t>>64!=0")]
    elif i.has("HI"):
        total = f"({sign}({whole(words[0])})*{sign}({whole(words[1])})+{pair(words[2])}>>32)"
    else:
        total = f"{whole(words[0])}*{whole(words[1])}+{whole(words[2])}"
    if not outs:
        return assign(target, f"({total}{carry})&M")
    return [f"t={total}{carry}"] + assign(target, "t&M") + [line for n, out in enumerate(outs) for line in decide(out, f"(t>>32)>{n}")]


def shift(i):
    target, low, count, high = i.operands
    low, high, count = whole(low), whole(high), f"({whole(count)}&{31 if i.has('W') else 63})"
    if i.has("L"):
        result = f"(({high}<<32|{low})<<{count}>>{32 if i.has('HI') else 0})&M"
    elif i.has("HI"):
        result = f"({'s' if i.has('S32', 'S64') else ''}({high})>>{count})&M"
    else:
        result = f"(({'s' if i.has('S64', 'S32') else ''}({high})<<32|{low})>>{count})&M"
    return assign(target, result)


def logic(i):
    words = list(i.operands)
    outs = [words.pop(0)] if is_truth(words[0]) else []
    target, a, b, c, table = words[:5]
    lines = [f"t={table_expression((whole(a), whole(b), whole(c), int(table, 0)))}"] + assign(target, "t")
    return lines + [line for out in outs for line in decide(out, "t!=0")]


def truth_logic(i):
    first, second, a, b, c, table, other = i.operands
    index = f"{truth(a)}*4+{truth(b)}*2+{truth(c)}"
    return [f"t={index}"] + decide(first, f"bool({int(table, 0)}>>t&1)") + decide(second, f"bool({int(other, 0)}>>t&1)")


def compare(i):
    first, second, a, b, before = i.operands[:5]
    word = i.parts[1]
    if i.name == "FSETP":
        test = f"{real(a)}{COMPARE[word[:2]]}{real(b)}"
        if word == "NE" or word.endswith("U") and word != "NEU":
            test = f"({test}) {'and' if word == 'NE' else 'or'} {'not ' if word != 'NE' else ''}({real(a)}=={real(a)} and {real(b)}=={real(b)})"
    else:
        sign = "" if i.has("U32") else "s"
        test = f"{sign}({whole(a)}){COMPARE[word]}{sign}({whole(b)})"
        if i.has("EX"):
            rest = truth(i.operands[5])
            test = f"({rest} if {whole(a)}=={whole(b)} else {test})"
    join = next(word for word in ("AND", "OR", "XOR") if i.has(word)).lower().replace("xor", "^")
    lines = [f"t=bool({test})", f"o={truth(before)}"] + decide(first, f"t {join} o")
    return lines + decide(second, f"(not t) {join} o")


def choose(i):
    """SEL, FSEL, and the smaller or larger of two (true: the smaller)."""
    target, a, b, which = i.operands
    if i.name in ("SEL", "FSEL"):
        values = [f"b({real(x)})" if re.match(r"[-+|]|\d*\.|\d+$", x) and not x.startswith(("0x", "-0x")) else whole(x) for x in (a, b)]
        return assign(target, f"{values[0]} if {truth(which)} else {values[1]}")
    if i.name == "FMNMX":
        return [f"t={real(a)};o={real(b)}"] + assign(target, f"b(min(t,o) if {truth(which)} else max(t,o))")
    sign = "" if i.has("U32") else "s"
    return [f"t={sign}({whole(a)});o={sign}({whole(b)})"] + assign(target, f"(min(t,o) if {truth(which)} else max(t,o))&M")


def convert(i):
    target, source = i.operands[0], i.operands[-1]
    if i.name in ("I2F", "I2FP"):
        byte = re.search(r"\.B(\d)", source)
        value = pair(source) if i.has("U64") else whole(source)
        if byte or i.has("U8"):
            value = f"({value}>>{8 * int(byte[1]) if byte else 0}&255)"
        elif i.has("U16"):
            value = f"({value}&65535)"
        return assign(target, f"b(float({value if i.has('U32', 'U64', 'U8', 'U16') else f's({value})'}))")
    how = "floor" if i.has("FLOOR") else "trunc" if i.has("TRUNC") else "round"
    if i.name == "FRND":
        return [f"t={real(source)}"] + assign(target, f"b(float({how}(t)))")
    low, high = (0, MASK) if i.has("U32") else (-2 ** 31, 2 ** 31 - 1)
    return [f"t={real(source)}"] + assign(target, f"to_int({how}(t),{low},{high})")


def arithmetic(i):
    target, *words = i.operands
    a, b, c = (list(map(real, words)) + ["", ""])[:3]
    result = {"FADD": f"{a}+{b}", "FMUL": f"{a}*{b}", "FFMA": f"{a}*{b}+{c}"}[i.name]
    return assign(target, f"b(min(1.0,max(0.0,{result})))" if i.has("SAT") else f"b({result})")


def address(word):
    match = re.fullmatch(r"\[(?:(R\d+|RZ)(\.64|\.U32|\.X\d+)?)?(?:\+?(UR\d+))?(?:\+?(-?0x[0-9a-f]+))?\]", word)
    if not match:
        raise Unknown(f"address {word}")
    parts = []
    if match[1]:
        scale = int(match[2][2:]) if match[2] and match[2].startswith(".X") else 1
        parts.append(pair(match[1]) if match[2] == ".64" else f"{whole(match[1])}*{scale}")
    if match[3]:
        parts.append(pair(match[3]) if match[2] else whole(match[3]))
    parts.append(match[4] or "0")
    return "+".join(parts)


def move(i):
    """Loads and stores; D is the device's memory, S the group's."""
    space = "D" if i.name in ("LDG", "STG", "RED", "LDC") else "S"
    size = 1 if i.has("U8", "S8") else 2 if i.has("U16", "S16") else 8 if i.has("64") else 16 if i.has("128") else 4
    load = i.name in ("LDG", "LDS")
    place, value = (i.operands[1], i.operands[0]) if load else i.operands[:2]
    lines = [f"a={address(place)}"]
    if i.name == "RED":
        return lines + [f"D[a:a+4]=(int.from_bytes(D[a:a+4],'little')+{whole(value)}&M).to_bytes(4,'little')"]
    for n in range(max(1, size // 4)):
        step = min(size, 4)
        where = f"{space}[a+{4 * n}:a+{4 * n + step}]" if n or step > 1 else f"{space}[a:a+1]"
        if load:
            lines += assign(value, f"int.from_bytes({where},'little')", n)
        else:
            lines += [f"{where}=({whole(value, n)}&{(1 << 8 * step) - 1}).to_bytes({step},'little')"]
    return lines


def constant_pair(i):
    target, *_, high, low = i.operands
    bits = [struct.unpack("<H", struct.pack("<e", float(word)))[0] for word in (high, low)]
    return assign(target, str(bits[0] << 16 | bits[1]))


def load_constant(i):
    target, source = i.operands
    return assign(target, whole(source)) + (assign(target, whole(source, 1), 1) if i.has("64") else [])


def special(i):
    target, source = i.operands
    if source == "SRZ":
        return assign(target, "0") + ([] if i.has("32") else assign(target, "0", 1))
    return assign(target, f"X[{source!r}]")


def pack_truths(i):
    if i.name == "R2P":
        return [f"t={whole(i.operands[1])}"] + [f"P[{n}]=bool(t>>{n}&1)" for n in range(7) if int(i.operands[2], 0) >> n & 1]
    return assign(i.operands[0], f"sum(P[n]<<n for n in range(7))&{int(i.operands[3], 0)}|{whole(i.operands[2])}&~{int(i.operands[3], 0)}")


RULES = {"IADD3": add, "IMAD": add, "LEA": add, "SHF": shift, "LOP3": logic, "PLOP3": truth_logic, "ISETP": compare, "FSETP": compare,
         "SEL": choose, "FSEL": choose, "FMNMX": choose, "IMNMX": choose, "I2F": convert, "I2FP": convert, "F2I": convert, "FRND": convert,
         "FADD": arithmetic, "FMUL": arithmetic, "FFMA": arithmetic, "LDG": move, "LDS": move, "STG": move, "STS": move, "RED": move,
         "HFMA2": constant_pair, "ULDC": load_constant, "S2R": special, "S2UR": special, "CS2R": special, "P2R": pack_truths, "R2P": pack_truths,
         "MOV": lambda i: assign(i.operands[0], whole(i.operands[1])), "R2UR": lambda i: assign(i.operands[0], whole(i.operands[1])),
         "MUFU": lambda i: assign(i.operands[0], f"b({'rcp' if i.has('RCP') else 'abs'}({real(i.operands[1])}))"),
         "F2F": lambda i: assign(i.operands[0], f"to_half({real(i.operands[1])})"),
         "F2FP": lambda i: assign(i.operands[0], f"to_half({real(i.operands[1])})<<16|to_half({real(i.operands[2])})"),
         "FCHK": lambda i: decide(i.operands[0], "False"),
         "IABS": lambda i: assign(i.operands[0], f"abs(s({whole(i.operands[1])}))&M"),
         "PRMT": lambda i: assign(i.operands[0], f"permute({','.join(map(whole, i.operands[1:]))})")}


def translate(i):
    """Lines of Python for an instruction that goes on to the next."""
    if i.name in NOTHING:
        return []
    if i.name not in RULES:
        raise Unknown(f"instruction {i.text}")
    try:
        lines = RULES[i.name](i)
    except (IndexError, ValueError, KeyError) as problem:
        raise Unknown(f"instruction {i.text}") from problem
    return [f"if {i.guard}:"] + [" " + line for line in lines] if i.guard and lines else lines


def read_kernel(listing, name):
    """(instructions, {label: address}) of a kernel in what nvdisasm prints."""
    instructions, labels, waiting, inside = [], {}, [], False
    for line in listing.splitlines():
        if re.match(r"\s*\.section\s", line):
            inside = f".text.{name}," in line
        elif inside and LABEL.match(line):
            waiting.append(LABEL.match(line)[1])
        elif inside and LINE.match(line):
            where, no, guard, word, rest = LINE.match(line).groups()
            labels.update((label, int(where, 16)) for label in waiting)
            waiting = []
            instructions.append(Instruction(int(where, 16), f"{'not ' if no else ''}{truth(guard)}" if guard else "", word, rest))
    return instructions, labels


def read_literals(listing, name):
    """Bank 2 of a kernel: numbers that the compiler put there."""
    part = listing.partition(f".nv.constant2.{name}:")[2].partition(".section")[0]
    numbers = bytes(int(word, 16) for row in re.findall(r"\.byte\s+([^\n]*)", part) for word in row.split(","))
    return struct.unpack(f"<{len(numbers) // 4}I", numbers[:len(numbers) // 4 * 4])


def target_of(i, labels):
    return labels[re.search(r"`\(([^)]*)\)", i.text)[1]]


def finish(i, labels, following):
    """Lines of Python that return where the thread goes; -1: it ends; (address,): it waits for its group there."""
    guard = i.guard or "True"
    if i.name == "EXIT":
        return [f"return -1 if {guard} else {following}"]
    if i.name == "BAR":
        return [f"return ({following},)"]
    if i.name == "RET":
        return [f"return {whole(i.operands[0].split()[0])}"]
    if i.name in ("BRA", "CALL"):
        also = f" and {truth(i.operands[0])}" if is_truth(i.operands[0]) else ""
        return [f"return {target_of(i, labels)} if {guard}{also} else {following}"]
    if i.name == "BRX":
        raise Unknown(f"instruction {i.text}")
    return translate(i) + [f"return {following}"]


class Kernel:
    """The blocks of a kernel: {address: (function of a thread, its instructions)}"""

    def __init__(self, listing, name):
        instructions, labels = read_kernel(listing, name)
        self.literals = read_literals(listing, name)
        if not instructions:
            raise Unknown(f"kernel {name}")
        starts = {0, *labels.values()} | {i.address + 16 for i in instructions if i.name in ENDS}
        self.blocks, self.names, current = {}, {}, []
        for i in instructions:
            current.append(i)
            following = i.address + 16
            if following in starts or i.name in ENDS:
                self.blocks[current[0].address] = (self.compile(current, labels, following), len(current))
                self.names[current[0].address] = current
                current = []

    def compile(self, block, labels, following):
        lines = ["R,U,P,Q,C,D,S,X=thread"]
        try:
            for i in block[:-1]:
                lines += translate(i)
            lines += finish(block[-1], labels, following)
        except Unknown as problem:
            lines = [f"raise Unknown({str(problem)!r})"]
        names = dict(NAMES, L=self.literals, Unknown=Unknown)
        exec("def run(thread):\n " + "\n ".join(lines), names)
        return names["run"]


def run_warp(kernel, threads, places, visits):
    """Runs threads (places: where each stands) until all wait or have ended. Instructions issued."""
    issued = 0
    while True:
        walking = [place for place in places if not isinstance(place, tuple) and place >= 0]
        if not walking:
            return issued
        lowest = min(walking)
        run, count = kernel.blocks[lowest]
        issued += count
        visits[lowest] = visits.get(lowest, 0) + 1
        for n, place in enumerate(places):
            if place == lowest:
                places[n] = run(threads[n])


def run_group(kernel, constants, memory, group, size, shared_bytes, visits=None):
    """Runs one group; constants: {byte: 32-bit number} of bank 0. Instructions issued by each warp, in all."""
    visits = {} if visits is None else visits
    bank = [constants.get(4 * n, 0) for n in range(256)]
    shared = bytearray(shared_bytes)
    threads = []
    for n in range(size):
        names = {"SR_TID.X": n, "SR_TID.Y": 0, "SR_CTAID.X": group[0], "SR_CTAID.Y": group[1], "SR_CTAID.Z": group[2], "SR_LANEID": n % 32}
        threads.append(([0] * 256, [0] * 64, [False] * 8, [False] * 8, bank, memory, shared, names))
    warps = [(threads[n:n + 32], [0] * 32) for n in range(0, size, 32)]
    issued = 0
    while any(place != -1 for _, places in warps for place in places):
        for part, places in warps:
            issued += run_warp(kernel, part, places, visits)
        for _, places in warps:
            places[:] = [place[0] if isinstance(place, tuple) else place for place in places]
    return issued
