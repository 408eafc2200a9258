#!/usr/bin/env python3
"""Makes seeds from fixtures and from scratch: run in the top of the tree, writes into fuzz/corpus.

fuzz_triton_metadata: the metadata alone, and metadata, NUL, binary. fuzz_same_kernel: bytes that describe modules.
fuzz_fatbin, fuzz_bundle: containers around small images, each with one thing that is unusual or wrong.
fuzz_inspect: one small file of each format. fuzz_cubin/written_* are what fuzz_write_cubin.c makes. Everything else in
fuzz/corpus was found by a fuzzer or written by hand.
"""
import hashlib
import json
import os
import pathlib
import random
import struct

CORPUS = pathlib.Path("fuzz/corpus")
TRITON = pathlib.Path("tests/fixtures/triton")


def put(target, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(data).hexdigest()[:16]
    (folder / name).write_bytes(data)


def triton():
    seen = set()
    for path in sorted(TRITON.glob("cache-*/**/*.json")):
        if path.name.startswith("__grp__") or path.name.endswith(".autotune.json"):
            continue
        text = path.read_bytes()
        binaries = [b for b in (path.with_suffix(".cubin"), path.with_suffix(".hsaco")) if b.exists()]
        fields = json.loads(text)
        # One of each shape is enough: the set of fields, the backend, and what decides the contract.
        shape = (tuple(sorted(fields)), str(fields.get("target")), fields.get("num_ctas"), bool(binaries),
                 fields.get("tmem_size"), bool(fields.get("global_scratch_size")), fields.get("launch_pdl"))
        if shape in seen:
            continue
        seen.add(shape)
        put("fuzz_triton_metadata", text)
        for binary in binaries:
            if binary.stat().st_size < 9000:
                put("fuzz_triton_metadata", text + b"\0" + binary.read_bytes())


def same_kernel():
    rng = random.Random(4)
    for size in [0, 2, 3, 8, 20, 40, 80, 120, 160, 200, 260, 320, 400, 500, 600, 700]:
        put("fuzz_same_kernel", bytes(rng.randrange(256) for _ in range(size)))
    # Eight kernels, every switch on, on each architecture.
    for sm in range(10):
        body = bytes([sm, 0xFF, 8]) + bytes(rng.choice([0xFF, 0x3F, 0xF2, 0x71, 5, 0]) for _ in range(600))
        put("fuzz_same_kernel", body)


PTX = b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid 128\n{ ret; }\n"


def fat_entry(kind, image, arch, flags=0x11, header=64, version=0x0101, compressed=0, raw=0, minor=0, major=9, name=b"", pad=8):
    """One entry. `compressed` and `raw` are sizes; 0: the payload stands as it is."""
    size = len(image) + -len(image) % pad
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, version, header, size, compressed, 0, minor, major, arch,
                       header - len(name) if name else 0, len(name), flags, 0, raw)
    head = head[: header - len(name)].ljust(header - len(name), b"\0") + name
    return head + image.ljust(size, b"\0")


def container(*entries, magic=0xBA55ED50, version=1, header=16, size=None):
    body = b"".join(entries)
    return struct.pack("<IHHQ", magic, version, header, len(body) if size is None else size) + body


def fatbins():
    cubin90 = (CORPUS / "fuzz_cubin/written_sm90a_odd").read_bytes()
    cubin80 = (CORPUS / "fuzz_cubin/written_sm80").read_bytes()
    elf90, elf80 = fat_entry(2, cubin90, 90, 0x100011, minor=8, major=1), fat_entry(2, cubin80, 80, minor=8, major=1)
    ptx = fat_entry(1, PTX, 90)
    whole = container(ptx)
    for data in [
        container(elf90), container(elf80), whole, container(elf80, elf90, ptx), container(elf90) + container(elf80),
        container(fat_entry(1, PTX, 75, minor=5, major=8), ptx, elf80), container(elf80, elf80), container(ptx, ptx),
        container(fat_entry(2, cubin90, 100, 0x1200011)), container(fat_entry(2, cubin90, 80)), container(),
        container(fat_entry(8, b"\x0c\xf5\x11\x0a" + bytes(20), 90)), container(fat_entry(16, b"what", 90)),
        container(fat_entry(1, PTX, 90, 0x8011, compressed=40, raw=len(PTX))),
        container(fat_entry(2, cubin80, 80, 0x2011, compressed=40, raw=9000)),
        container(fat_entry(2, cubin80, 80, 0xA011, compressed=40, raw=9000)),
        container(fat_entry(1, PTX, 90, raw=500)), container(fat_entry(1, PTX, 90, compressed=50000)),
        container(fat_entry(1, PTX, 90, header=72)), container(fat_entry(1, PTX, 90, header=96, name=b"a.cu\0")),
        container(fat_entry(1, PTX, 90, header=32)), container(fat_entry(1, PTX, 90, header=60000)),
        container(fat_entry(1, PTX, 90, version=0x0202)), container(fat_entry(1, PTX, 4000000000)),
        container(fat_entry(1, PTX, 90, pad=1)), container(fat_entry(1, PTX + b"\0\0\0", 90)),
        container(ptx, version=2), container(ptx, header=8), container(ptx, header=24), container(ptx, size=1 << 40),
        container(ptx, size=17), container(ptx, size=80), whole + bytes(8), whole + b"tail", whole + b"\0" * 3, whole[:15],
        whole[:40], whole[:-9], b"\x50\xed\x55\xba", container(*[fat_entry(1, b"", 50 + i) for i in range(40)]),
        container(fat_entry(1, b"", 90)), container(fat_entry(2, b"\x7fELF", 90)), container(fat_entry(1, b"no PTX", 90)),
    ]:
        put("fuzz_fatbin", data)


def bundle(entries, magic=b"__CLANG_OFFLOAD_BUNDLE__", count=None):
    """`entries`: (id, bytes, offset or None, size or None)."""
    index = 32 + sum(24 + len(e[0]) for e in entries)
    head, body = magic + struct.pack("<Q", len(entries) if count is None else count), b""
    for name, data, offset, size in entries:
        at = index + len(body) if offset is None else offset
        head += struct.pack("<QQQ", at, len(data) if size is None else size, len(name)) + name
        body += data
    return head + body


def bundles():
    v5 = (TRITON.parent / "hsaco/cl.hsaco").read_bytes()
    host = (b"host-x86_64-unknown-linux-gnu--", b"", None, None)
    name = b"hipv4-amdgcn-amd-amdhsa--gfx906"
    one = (name, v5, None, None)
    whole = bundle([host, one])
    compressed = b"CCOB" + struct.pack("<HHIIQ", 2, 1, 200, 900, 7) + bytes(100)
    for data in [
        whole, bundle([one]), bundle([host]), bundle([]), bundle([one, one]), bundle([(b"hip-amdgcn-amd-amdhsa-gfx906", v5, None, None)]),
        bundle([(b"openmp-amdgcn-amd-amdhsa--gfx906:xnack+", v5, None, None), host]), bundle([(b"", b"", None, None)]),
        bundle([(b"hipv4", b"", None, None)]), bundle([(b"hipv4-amdgcn-amd-amdhsa--gfx9" + b"0" * 90, b"", None, None)]),
        bundle([(b"hipv4-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07", None, None)]),
        bundle([(b"cuda-nvptx64-nvidia-cuda--sm_90", PTX, None, None)]), bundle([(b"a\0b-c", b"", None, None)]),
        bundle([one], count=2), bundle([one], count=1 << 62), bundle([one], count=5000), bundle([(name, v5, 1 << 40, None)]),
        bundle([(name, v5, None, 1 << 40)]), bundle([(name, v5, 3, 8)]), bundle([(b"x" * 5000, b"", None, None)]),
        bundle([(name, b"", None, None)]), bundle([(name, b"\x7fELF", None, None)]), whole[:30], whole[:40], whole[:70], whole[:-1], whole[:24],
        compressed, compressed[:10], b"CCOB" + struct.pack("<HHQQQ", 3, 1, 200, 900, 7) + bytes(100), b"CCOB\x09\0\x07\0" + bytes(30),
        b"CCOB" + struct.pack("<HHIQ", 1, 0, 900, 7),
    ]:
        put("fuzz_bundle", data)
    put("fuzz_amdgcn", v5[:64])


def elf_with(section, data, machine=62, kind=1, extra=()):
    """A relocatable file of the host with the sections given, and nothing else."""
    sections = [(section, data), *extra]
    names = b"\0" + b"".join(n + b"\0" for n, _ in sections) + b".shstrtab\0"
    body, heads = b"", [bytes(64)]
    for n, d in sections:
        body += b"\0" * (-(64 + len(body)) % 8)
        heads.append(struct.pack("<IIQQQQIIQQ", names.index(b"\0" + n + b"\0") + 1, 1, 2, 0, 64 + len(body), len(d), 0, 0, 8, 0))
        body += d
    heads.append(struct.pack("<IIQQQQIIQQ", names.index(b".shstrtab"), 3, 0, 0, 64 + len(body), len(names), 0, 0, 1, 0))
    body += names
    body += b"\0" * (-(64 + len(body)) % 8)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, 64 + len(body), 0, 64, 56, 0, 64,
                                                         len(heads), len(heads) - 1)
    return head + body + b"".join(heads)


def inspections():
    cubin = (CORPUS / "fuzz_cubin/written_sm90a_odd").read_bytes()
    hsaco = (TRITON.parent / "hsaco/cl.hsaco").read_bytes()
    fat = container(fat_entry(2, cubin, 90, 0x100011, minor=8, major=1), fat_entry(1, PTX, 90), fat_entry(8, b"\x0c\xf5\x11\x0a", 90),
                    fat_entry(1, b"xxxx", 90, 0x8011, compressed=4, raw=100))
    for data in [
        PTX, cubin, hsaco, fat, bundle([(b"hipv4-amdgcn-amd-amdhsa--gfx906", hsaco, None, None)]), elf_with(b".nv_fatbin", fat),
        elf_with(b".nv_fatbin", fat + fat, kind=3), elf_with(b".nv_fatbin", b""), elf_with(b".nv_fatbin", b"none"), elf_with(b".text", b"x"),
        elf_with(b".hip_fatbin", bundle([(b"hipv4-amdgcn-amd-amdhsa--gfx906", hsaco, None, None)])), elf_with(b".nv_fatbin", fat, machine=183),
        elf_with(b"__nv_relfatbin", fat), elf_with(b".nv_fatbin", fat, extra=[(b".nv_fatbin", fat)]), elf_with(b".nv_fatbin", fat[:50]),
        b"", b"\x7fELF", b"#!/bin/sh\n", b"{}", b"CCOB" + struct.pack("<HHIIQ", 2, 1, 200, 900, 7), b".version", b"  // c\n.version 9.0\n",
        container(fat_entry(2, cubin[:-5], 90)), container(fat_entry(1, b".version 9.0\n", 90)),
    ]:
        put("fuzz_inspect", data)


if __name__ == "__main__":
    os.umask(0o022)
    triton()
    same_kernel()
    fatbins()
    bundles()
    inspections()
