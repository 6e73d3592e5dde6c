#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# avx512.sh [PROGRAM [ARGUMENT...] [-- PROGRAM...]]   runs programs of this machine, one after the other, on an
# emulated CPU with AVX-512 (F, CD, BW, DQ, VL), whatever CPU this machine has. Without arguments: the programs
# that check kernels. Exit status: that of the first program that fails, 124 out of time, 77 skipped.
# A file or folder that is an argument (its full path) is there too, at the same place.
# The emulator is bochs; in it Debian's kernel starts with nothing but the programs and their libraries.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
limit_s=${AVX512_LIMIT_S:-3600}
kernel=linux-image-cloud-amd64 # the smallest of Debian's kernels that has all built in

# clearcpuid: bochs reports a wrong size of the compacted register area, and the kernel then saves no
# registers beyond SSE. rodata=off: 15 s less. panic, reboot: with reset_on_triple_fault a dying kernel ends bochs.
boot="console=ttyS0,115200 loglevel=2 nosmp nokaslr mitigations=off rodata=off cryptomgr.notests
      clearcpuid=xsavec,xsaves panic=-1 reboot=triple"

skip() {
    echo "skipped: $1"
    exit 77
}

folder=''
emulator=''
clean_up() {
    if [ -n "$emulator" ]; then kill "$emulator" && wait "$emulator" 2>/dev/null || true; fi
    if [ -n "$folder" ]; then rm -rf "$folder"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Our own build, or else Debian's, which is slower and whose float16 is wrong.
get_emulator() {
    local said
    if said=$("$here/build_bochs"); then
        bochs=$said
        display=nogui
    else
        echo "Debian's own bochs is used: $(tail -n 1 <<<"$said")"
        bochs=bochs
        display=term
    fi
}

get_kernel() { # unpacked only: nothing of this machine's boot changes
    local name
    name=$(apt-cache depends "$kernel" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$name" ] || skip "apt knows no package $kernel (apt-get update may help)"
    mkdir "$folder/kernel"
    (cd "$folder/kernel" && apt-get -qq download "$name" && dpkg -x ./*.deb .) >"$folder/log" 2>&1 ||
        skip "$name cannot be downloaded or unpacked: $(tail -n 1 "$folder/log")"
    mv "$folder"/kernel/boot/vmlinuz-* "$folder/disc/vmlinuz"
    echo "kernel: $name"
}

add_program() { # FILE: into the emulated machine, its libraries to where they are here
    local libraries
    [ -x "$1" ] || { echo "avx512.sh: '$1' is no program" >&2; exit 2; }
    cp -L "$1" "$folder/root/bin/"
    libraries=$(ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true) # none: linked statically
    if [ -n "$libraries" ]; then cp -L --parents $libraries "$folder/root"; fi
}

add_commands() { # the command line of this script -> /commands of the emulated machine
    local first=yes word
    for word in "$@" --; do
        [ -n "$word" ] || { echo "avx512.sh: an empty argument cannot be passed on" >&2; exit 2; }
        if [ "$word" = -- ]; then
            echo
            first=yes
        elif [ $first = yes ]; then
            add_program "$word"
            echo "/bin/$(basename "$word")"
            first=no
        else
            if [[ $word = /* && -e $word ]]; then cp -rL --parents "$(realpath "$word")" "$folder/root"; fi
            echo "$word"
        fi
    done >"$folder/root/commands"
}

make_disc() {
    cc -O1 -static -o "$folder/root/init" "$here/emulated_init.c"
    (cd "$folder/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$folder/disc/initrd"
    cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$folder/disc"
    printf 'DEFAULT linux\nLABEL linux\nKERNEL vmlinuz\nINITRD initrd\nAPPEND %s\n' "$(echo $boot)" \
        >"$folder/disc/isolinux.cfg"
    xorriso -as mkisofs -quiet -o "$folder/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
        -boot-info-table "$folder/disc" 2>"$folder/log" || { cat "$folder/log" && return 1; }
}

emulate() { # leaves what the machine wrote to its serial line in $folder/serial
    local status=0 options=(-q -f "$folder/machine")
    cat >"$folder/machine" <<EOF
cpu: model=corei7_skylake_x, count=1, ips=20000000, reset_on_triple_fault=0
memory: guest=512, host=512
ata0-master: type=cdrom, path=$folder/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$folder/serial
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios-stdvga.bin
display_library: $display
speaker: enabled=0
log: $folder/emulator.log
panic: action=fatal
error: action=ignore
EOF
    if [ $display = term ]; then # Debian's bochs waits for this word before it starts
        echo continue >"$folder/debugger"
        options+=(-rc "$folder/debugger")
    fi
    # bochs does not heed SIGTERM, so timeout sends SIGKILL after it.
    TERM=vt100 timeout -k 1 "$limit_s" "$bochs" "${options[@]}" \
        </dev/null >"$folder/screen" 2>&1 &
    emulator=$!
    wait $emulator 2>/dev/null || status=$? # 1 after every regular end too: the machine's last line counts
    emulator=''
    return $status
}

[ "$(uname -m)" = x86_64 ] || skip "this is no x86-64 machine"
command -v apt-get >/dev/null || skip "this is no system with apt"
"$tree/tools/setup" build avx512 || skip "the emulator (bochs) and its tools cannot be installed"
get_emulator
folder=$(mktemp -d)
mkdir -p "$folder/disc" "$folder"/root/{bin,dev,proc,sys,tmp}
if [ $# = 0 ]; then
    "$tree/tools/build" "$tree/build" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" && exit 1; }
    built=$tree/build/tests
    set -- "$built/unit/test_cpu_level" -- "$built/unit/test_augment_c" -- "$built/unit/test_augment_batch" -- \
        "$built/unit/test_augment_ids" -- "$built/device/test_conformance" -- \
        "$built/golden/test_golden_augment" "$tree/tests/golden" -- "$built/check/test_winograd" -- \
        "$built/check/stkcheck"
    if [ $display = nogui ]; then set -- "$built/check/test_half" -- "$@"; fi
fi

add_commands "$@"
get_kernel
make_disc
ended=0
emulate || ended=$?
touch "$folder/serial"
grep -av '^=== status ' "$folder/serial" || true
status=$(sed -n 's/^=== status \([0-9]*\)$/\1/p' "$folder/serial" | tail -n 1)
if [ -z "$status" ] && [ $ended -ge 124 ]; then
    echo "avx512.sh: not finished after $limit_s s" >&2
    exit 124
elif [ -z "$status" ]; then
    echo "avx512.sh: the emulated machine stopped early:" >&2
    grep -a PANIC "$folder/emulator.log" >&2 || tail -n 5 "$folder/screen" >&2
    exit 1
fi
exit "$status"
