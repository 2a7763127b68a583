#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Takes the ELF kernel out of a bzImage, as scripts/extract-vmlinux of the kernel does: uncompress.py IN OUT"""
import subprocess
import sys

FORMATS = (
    (b"\x28\xb5\x2f\xfd", ("zstd", "-dc")),
    (b"\xfd7zXZ\0", ("xz", "-dc", "--single-stream")),
    (b"\x1f\x8b\x08", ("gzip", "-dc")),
)

with open(sys.argv[1], "rb") as image:
    data = image.read()
for magic, command in FORMATS:
    at = data.find(magic)
    while at >= 0:
        # What follows the kernel in the image makes the tools complain: only the output counts.
        run = subprocess.run(command, input=data[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if run.stdout.startswith(b"\x7fELF"):
            with open(sys.argv[2], "wb") as out:
                out.write(run.stdout)
            sys.exit(0)
        at = data.find(magic, at + 1)
sys.exit("no kernel found in " + sys.argv[1])
