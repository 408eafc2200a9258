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
    cubin100 = (CORPUS / "fuzz_cubin/written_sm103a").read_bytes()
    cubin133 = (CORPUS / "fuzz_cubin/written_sm133").read_bytes()
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
        container(fat_entry(2, cubin80, 80, 0x100011)), container(fat_entry(2, cubin80, 80, 0x200011)), container(fat_entry(2, cubin90, 90)),
        container(fat_entry(1, PTX, 90, 0x100011)), container(fat_entry(1, PTX, 80)), container(fat_entry(1, PTX.replace(b"90\n", b"90a\n"), 90, 0x100011)),
        container(fat_entry(2, cubin100, 103, 0x1200011)), container(fat_entry(2, cubin100, 103, 0x1100011)), container(fat_entry(2, cubin133, 133, 0x1200011)),
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


def elf_with(section, data, machine=62, kind=1, extra=(), overlap=False):
    """A relocatable file of the host with the sections given, and nothing else."""
    sections = [(section, data), *extra]
    names = b"\0" + b"".join(n + b"\0" for n, _ in sections) + b".shstrtab\0"
    body, heads = b"", [bytes(64)]
    for n, d in sections:
        body += b"\0" * (-(64 + len(body)) % 8)
        heads.append(struct.pack("<IIQQQQIIQQ", names.index(b"\0" + n + b"\0") + 1, 1, 2, 0, 64 + len(body), len(d), 0, 0, 8, 0))
        body += d
    heads += [heads[-1]] * 8 if overlap else []
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
        container(fat_entry(1, PTX + b"\0\0\0\0", 90)), elf_with(b".nv_fatbin", fat * 2, overlap=True), container(*[fat_entry(1, PTX, 50 + i) for i in range(40)]),
        container(fat_entry(2, cubin[:-5], 90)), container(fat_entry(1, b".version 9.0\n", 90)),
    ]:
        put("fuzz_inspect", data)


# ---- amdgcn: a code object from nothing, and many that are wrong in one place ----

def pack(value):
    """MessagePack as LLVM writes it; a bytes value stands as it is, so that a wrong item can be put in."""
    if isinstance(value, bytes):
        return value
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if value < 0:
            return struct.pack(">bi", -0x2E, value)
        for limit, head in ((0x80, ">B"), (0x100, ">BB"), (0x10000, ">BH"), (1 << 32, ">BI"), (1 << 64, ">BQ")):
            if value < limit:
                kind = {">BB": 0xCC, ">BH": 0xCD, ">BI": 0xCE, ">BQ": 0xCF}.get(head)
                return struct.pack(head, value) if kind is None else struct.pack(head, kind, value)
    if isinstance(value, str):
        raw = value.encode()
        return (bytes([0xA0 | len(raw)]) if len(raw) < 32 else struct.pack(">BH", 0xDA, len(raw))) + raw
    if isinstance(value, list):
        head = bytes([0x90 | len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDC, len(value))
        return head + b"".join(map(pack, value))
    head = bytes([0x80 | len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDE, len(value))
    return head + b"".join(pack(k) + pack(v) for k, v in value.items())


def kernel_map(**changes):
    argument = {".name": "p", ".offset": 0, ".size": 8, ".value_kind": "global_buffer"}
    hidden = {".offset": 8, ".size": 8, ".value_kind": "hidden_hostcall_buffer"}
    fields = {".args": [argument, hidden], ".agpr_count": 4, ".group_segment_fixed_size": 256, ".kernarg_segment_align": 8,
              ".kernarg_segment_size": 16, ".max_flat_workgroup_size": 1024, ".name": "k", ".private_segment_fixed_size": 0,
              ".reqd_workgroup_size": [64, 2, 1], ".sgpr_count": 300, ".symbol": "k.kd", ".vgpr_count": 8, ".wavefront_size": 64}
    for key, value in changes.items():
        key = "." + key
        if value is Ellipsis:
            del fields[key]
        else:
            fields[key] = value
    return fields


def hsaco(kernels=None, target="amdgcn-amd-amdhsa--gfx90a:sramecc+", flags=0xD3F, abi=3, root=None, note=None, owner=b"AMDGPU\0", notes=1,
          note_type=32, note_in_section=False, symbols=(b"k.kd",), size=64, address=0x2000, type_=3, osabi=64, descriptor=(256, 0, 16),
          entry=0x1000 - 0x2000, both_tables=False, tables=1, second_address=None, link=None, entsize=24, tail=b""):
    if note is None:
        if root is None:
            root = {"amdhsa.kernels": [kernel_map()] if kernels is None else kernels, "amdhsa.printf": ["1:0:x"], "amdhsa.target": target,
                    "amdhsa.version": [1, 2]}
            if target is None:
                del root["amdhsa.target"]
        note = pack(root) + tail
    one = struct.pack("<III", len(owner), len(note), note_type) + owner.ljust(-(-len(owner) // 4) * 4, b"\0") + note
    one = one.ljust(-(-len(one) // 4) * 4, b"\0")
    rodata = struct.pack("<IIIIq", *descriptor, 0, entry).ljust(64, b"\0")
    strings = b"\0" + b"".join(s + b"\0" for s in symbols)

    def table(at):
        return bytes(24) + b"".join(struct.pack("<IBBHQQ", strings.index(b"\0" + s + b"\0") + 1, 0x11, 3, 2, at, size) for s in symbols)

    parts = [(b".note", 7, 0, one * notes, 0, 0), (b".rodata", 1, 0x2000, rodata, 0, 0), (b".text", 1, 0x1000, b"\0\0\x81\xbf" * 4, 0, 0),
             (b".dynstr", 3, 0, strings, 0, 0)]
    parts += [(b".dynsym", 11, 0, table(address), 4 if link is None else link, entsize)] * tables
    if both_tables:
        parts.append((b".symtab", 2, 0, table(address if second_address is None else second_address), 4, 24))
    names = b"\0" + b"".join(p[0] + b"\0" for p in parts) + b".shstrtab\0"
    parts.append((b".shstrtab", 3, 0, names, 0, 0))
    at, body, heads, places = 64 + 3 * 56, b"", [bytes(64)], {}
    for name, kind, where, data, link_to, entry_size in parts:
        body += b"\0" * (-(at + len(body)) % 8)
        places.setdefault(name, (at + len(body), len(data)))
        heads.append(struct.pack("<IIQQQQIIQQ", names.index(b"\0" + name + b"\0") + 1, kind, 2, where, at + len(body), len(data), link_to, 0, 8,
                                 entry_size))
        body += data
    body += b"\0" * (-(at + len(body)) % 8)

    def segment(kind, access, name, where):
        offset, length = places[name]
        return struct.pack("<IIQQQQQQ", kind, access, offset, where, where, length, length, 8)

    segments = segment(1, 5, b".text", 0x1000) + segment(1, 4, b".rodata", 0x2000) + segment(0 if note_in_section else 4, 4, b".note", 0)
    head = b"\x7fELF\x02\x01\x01" + bytes([osabi, abi]) + bytes(7) + struct.pack("<HHIQQQIHHHHHH", type_, 224, 1, 0, 64, at + len(body), flags, 64,
                                                                              56, 3, 64, len(heads), len(heads) - 1)
    return head + segments + body + b"".join(heads)


def argument(**changes):
    fields = {"name": "p", "offset": 0, "size": 8, "value_kind": "by_value"}
    fields.update(changes)
    return {"." + k: v for k, v in fields.items() if v is not Ellipsis}


def amdgcn():
    def args(*items, size=16):
        return {"kernels": [kernel_map(args=list(items), kernarg_segment_size=size)], "descriptor": (256, 0, size)}

    def kernel(**changes):
        return {"kernels": [kernel_map(**changes)]}

    variants = [
        {}, {"note_in_section": True}, {"both_tables": True}, {"target": None}, {"target": None, "flags": 0xEE}, {"flags": 0xEE},
        {"target": "amdgpu9.0a-amd-amdhsa-unknown-gfx90a:sramecc+"}, {"target": "gfx90a"}, {"target": "amdgcn-amd-amdhsa--what"},
        {"target": "amdgcn-amd-amdhsa"}, {"target": "amdgcn-amd-amdhsa--"}, {"target": "amdgcn-amd-amdhsa-gfx90a:sramecc+"}, {"target": "a-b"},
        {"target": "amdgcn-amd-amdhsa--" + "g" * 80}, {"target": "amdgcn-amd-amdhsa--gfx90a:sramecc-"}, {"target": "amdgcn-amd-amdhsa--gfx90a"},
        {"target": "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+"}, {"target": "amdgcn-amd-amdhsa--gfx906"}, {"flags": 0xA3F}, {"flags": 0x3F},
        {"target": "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "flags": 0xE3F}, {"target": "amdgcn-amd-amdhsa--gfx1250", "flags": 0x249},
        {"target": "amdgcn-amd-amdhsa--gfx11-generic", "flags": 0x01000054, "abi": 4}, {"abi": 2}, {"abi": 1}, {"abi": 0}, {"abi": 9}, {"osabi": 0},
        {"type_": 1}, {"type_": 2}, {"notes": 2}, {"notes": 0}, {"note": b""}, {"owner": b"GNU\0"}, {"note_type": 10}, {"tail": b"\xc0"},
        {"note": b"\xc1"}, {"note": b"\x90"}, {"note": b"\x80"}, {"note": b"\x81\xa1"}, {"note": b"\x91" * 20 + b"\xc0"}, {"note": b"\xdd\xff\xff\xff\xff"},
        {"root": {"amdhsa.kernels": 1, "amdhsa.target": "x"}}, {"root": {"amdhsa.kernels": [], "amdhsa.target": "x"}},
        {"root": {"amdhsa.target": 7, "amdhsa.kernels": [1]}}, {"root": {1: 2, "amdhsa.kernels": [kernel_map()]}}, {"kernels": [3]},
        {"note": pack({"a": 1}) + b""}, {"note": b"\x82" + pack("a") + b"\x01" + pack("a") + b"\x02"}, {"note": b"\x82" + pack("b") + b"\x01" + pack("a") + b"\x02"},
        {"note": b"\x83" + pack("b") + b"\x01" + pack("a") + b"\x02" + pack("b") + b"\x02"},
        {"kernels": [kernel_map(), kernel_map()]}, {"kernels": [kernel_map(), kernel_map(name="a")]},
        {"kernels": [kernel_map(name="b", symbol="b.kd"), kernel_map(name="a", symbol="k.kd")], "symbols": (b"k.kd", b"b.kd")},
        *[kernel(**{key: Ellipsis}) for key in ("name", "symbol", "args", "kernarg_segment_size", "group_segment_fixed_size", "vgpr_count",
                                                "private_segment_fixed_size", "reqd_workgroup_size")],
        *[kernel(**{key: value}) for key in ("name", "vgpr_count", "reqd_workgroup_size", "args") for value in (1, "x", -1, None, 2.5 and b"\xcb" + bytes(8))],
        kernel(vgpr_count=1 << 33), kernel(vgpr_count=b"\xd3" + b"\xff" * 8), kernel(vgpr_count=b"\xd0\x05"), kernel(vgpr_count=b"\xd1\0\x05"),
        kernel(reqd_workgroup_size=[1, 2]), kernel(reqd_workgroup_size=[1, 2, "x"]), kernel(cluster_dims=[2, 1, 1]), kernel(name=""),
        kernel(name="k\x01"), kernel(name=b"\xa2k\0"), kernel(symbol="other.kd"), kernel(kernarg_segment_size=40000), kernel(private_segment_fixed_size=8),
        kernel(group_segment_fixed_size=0), kernel(uses_dynamic_stack=True, unknown=b"\xc7\x01\x01\x00", more=b"\xd4\x01\x00", bin=b"\xc4\x01\x00"),
        kernel(unknown=b"\xca\0\0\0\0", floats=b"\xcb" + bytes(8), other=b"\xd9\x01x", long=b"\xdb\0\0\0\x01x", map32=b"\xdf\0\0\0\x01\xa1a\xc0"),
        *[args(argument(**{key: Ellipsis})) for key in ("offset", "size", "value_kind", "name")],
        *[args(argument(**{key: value})) for key in ("offset", "size", "value_kind", "name", "value_type") for value in (-1, "i32", None)],
        *[args(argument(value_kind=kind)) for kind in ("dynamic_shared_pointer", "image", "sampler", "pipe", "queue", "hidden_heap_v1", "new_kind")],
        *[args(argument(value_type=kind)) for kind in ("struct", "u8", "f16", "i64", "what")], args(argument(), argument(offset=4)), args(argument(offset=12)),
        args(argument(size=0, offset=16)), args(3), args(argument(name="p\x02")), args(argument(name="")), args(argument(offset=1 << 32)),
        args(*[argument(offset=i, size=1) for i in range(20)], size=20),
        {"symbols": ()}, {"symbols": (b"k.kd", b"k.kd")}, {"symbols": (b"a", b"k.kd", b"z")}, {"size": 32}, {"address": 0x9000}, {"address": 0x2001}, {"address": 0},
        {"entry": 0}, {"entry": -(1 << 60)}, {"descriptor": (0, 0, 16)}, {"descriptor": (256, 4, 16)}, {"descriptor": (256, 0, 8)}, {"tables": 0}, {"tables": 2},
        {"tables": 0, "both_tables": True}, {"both_tables": True, "second_address": 0x2008}, {"link": 99}, {"link": 1}, {"entsize": 16},
    ]
    for variant in variants:
        put("fuzz_amdgcn", hsaco(**variant))
    whole = hsaco()
    for cut in (63, 64, 100, 300, len(whole) - 1):
        put("fuzz_amdgcn", whole[:cut])
    # Numbers of the header, the segments and the section headers, one at a time.
    table = struct.unpack_from("<Q", whole, 40)[0]
    for at, size in [(4, 1), (5, 1), (6, 1), (16, 2), (18, 2), (32, 8), (40, 8), (52, 2), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2), *[(64 + o, 8) for o in
                     (0, 8, 16, 32, 40)], *[(64 + 112 + o, 8) for o in (8, 32)], *[(table + 64 * n + o, 8) for n in (1, 5) for o in (24, 32)],
                     (table + 64 * 5 + 4, 4), (table + 64 * 5, 4), (table + 64 * 4 + 4, 4)]:
        for value in (0, 1, (1 << 8 * size) - 1):
            put("fuzz_amdgcn", whole[:at] + value.to_bytes(size, "little") + whole[at + size:])


# ---- PTX that is wrong in one place ----

def texts():
    head = b".version 9.0\n.target sm_90\n.address_size 64\n"
    parameter = [b".align 3 .b8 p[4]", b".align 256 .b8 p", b".v2 .f32 p", b".v4 .b32 p[2]", b".v8 .b8 p", b".foo p", b".foo .u32 p", b".u32 .bar p", b".u32 p[0]",
                 b".u32 p[x]", b".b8 p[4294967295]", b".b8 p[1048576], .param .b8 q[9]", b".u32", b"p", b".align 8 p", b".u64 .ptr .shared .align 4 p", b".u64 .ptr .local p",
                 b".u64 .ptr .const p", b".u64 .ptr .odd p", b".u64 .ptr .align 3 p", b".b128 p", b".texref p", b".u32 p[", b".u32 p[4", b".u32 p[]", b".u32 p[0b11]", b".u32 p[017]",
                 b".u32 p[0x1F]", b".u32 p[08]", b".u32 p[3U]", b".u32 p p", b".u32 9p", b".f16x2 p", b".bf16 p", b".pred p", b".surfref p", b".u32 p, ", b""]
    bodies = [b".entry k(.param " + p + b"){ret;}" for p in parameter]
    bodies += [b".entry k() " + d + b" {}" for d in (b".maxntid", b".maxntid 1,", b".maxntid 1,2,3,4", b".maxntid 0", b".maxntid x", b".reqntid 1.5", b".maxnreg", b".maxclusterrank 4",
               b".reqnctapercluster 2, 2", b".explicitcluster", b".blocksareclusters", b".noreturn", b".pragma \"a\", \"b\";", b".pragma a;", b".pragma \"a\"", b".maxnctapersm 4", b".foo",
               b".minnctapersm 2 .minnctapersm 3", b".abi_preserve 4", b".extern", b"x", b"(", b".maxntid 99999999999999999999")]
    bodies += [b".extern .entry k() {}", b".extern .entry k();", b".common .entry k(){}", b".visible .weak .entry k(){}", b".entry k(){ .entry j(){} }", b".func f(.entry k()) {}",
               b".global .b32 a[2] = {1, .entry};", b".visible .global .b32 a .entry k(){}", b".entry k(){} .entry k(){}", b".entry k(){", b".entry k(", b".entry", b".entry k", b".entry k{}}",
               b"}", b";", b"foo", b"\"s\"", b"\"s", b".section .debug { .b8 1 }", b"@@DWARF x", b".file 1 \"a\"", b".loc 1 2 3", b"# 1 \"a\"\n.entry k(){}", b"#line", b"// x", b"/* x", b"/*/",
               b".entry k(){ /* } */ // }\n \"}\" }", b".entry k(){\"\\\"}\"}", b".entry k(){\"", b".entry \xc3\xa4(){}", b".entry k\x00(){}", b".entry k(){}\x1a", b".entry k(){}\x7f",
               b".alias a, b;", b".entry k() ;", b".entry $(){}", b".entry %k(){}", b".entry %(){}", b".entry _(){}", b". entry k(){}", b".pragma \"x\"; .entry k(){}",
               b"{ }", b".func (.reg .b32 r) f(.reg .b32 a) { ret; } .entry k(){}", b".callprototype x; .entry k(){}", b".entry k(){" + b"{" * 300 + b"}" * 299]
    whole = [head + b for b in bodies]
    whole += [b"", b"\n", b".version", b".version 9", b".version 9.0", b".version x.y", b".version 9.0 .entry k(){}", b".version 9.0\n.target", b".version 9.0\n.target 90", b".version 9.0\n.target sm_",
              b".version 9.0\n.target sm_90b\n.entry k(){}", b".version 9.0\n.target sm_90, sm_80, texmode_independent, debug, map_f64_to_f32, odd\n.entry k(){}",
              b".version 9.0\n.target sm_90,\n", b".version 9.0\n.target compute_90\n.entry k(){}", b".version 9.0\n.target sm_99999999999\n.entry k(){}", b".version 9.0\n.target texmode_unified\n.entry k(){}",
              b".version 9.0\n.target sm_100f\n.address_size 32\n.entry k(){}", b".version 9.0\n.target sm_90\n.address_size 48\n", b".version 9.0\n.target sm_90\n.address_size x", b".version 9.0\n.target sm_90\n.address_size",
              b".target sm_90\n.version 9.0\n", b".version 99.9\n.target sm_90a\n.entry k(){}", b".version 9.0.1\n.target sm_90\n.entry k(){}", b"\xef\xbb\xbf.version 9.0\n", head, b"// c\n" + head + b".entry k(){}",
              b".version 4294967296.0\n.target sm_90\n", b".version 9.4294967296\n.target sm_90\n", head + head]
    for text in whole:
        put("fuzz_ptx", text)


# ---- Triton's metadata, and what it disagrees with ----

def ptx(name="k", target="sm_90", parameters=("u64", "u64", "u64", "u64"), bounds=".reqntid 128\n", more=""):
    listed = ", ".join(f".param .{kind} p{i}" for i, kind in enumerate(parameters))
    return f".version 9.0\n.target {target}\n.address_size 64\n.entry {name}({listed})\n{bounds}{{ ret; }}\n{more}".encode()


def metadata(drop=(), **changes):
    fields = {"hash": "00", "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "num_warps": 4, "num_ctas": 1, "num_stages": 3, "warp_size": 32,
              "launch_cooperative_grid": False, "launch_pdl": False, "triton_version": "3.9.0", "shared": 0, "tmem_size": 0, "global_scratch_size": 0,
              "global_scratch_align": 1, "profile_scratch_size": 0, "profile_scratch_align": 1, "name": "k"}
    fields.update(changes)
    return json.dumps({k: v for k, v in fields.items() if k not in drop}).encode()


def target(**changes):
    fields = {"backend": "cuda", "arch": 90, "warp_size": 32}
    fields.update(changes)
    return {k: v for k, v in fields.items() if v is not Ellipsis}


def contract(kernel=None, **changes):
    """A contract of the PTX above, as slipway.json keeps it."""
    params = [{"alignment_bytes": 8, "kind": "unsigned", "name": f"p{i}", "offset_bytes": 8 * i, "role": "caller", "size_bytes": 8} for i in range(4)]
    fields = {"accumulation_registers": 0, "cluster": [0, 0, 0], "cluster_required": False, "cooperative": False, "ctas": 1, "dynamic_shared_bytes": 0,
              "global_scratch_alignment_bytes": 0, "global_scratch_bytes": 0, "grid_unit": "blocks", "local_bytes": 0, "max_block": [0, 0, 0], "max_cluster_rank": 0,
              "max_registers": 0, "max_threads": 0, "min_blocks": 0, "name": "k", "needs": [], "param_bytes": 32, "params": params, "profile_scratch_alignment_bytes": 0,
              "profile_scratch_bytes": 0, "programmatic_launch": False, "registers": 0, "required_threads": [128, 1, 1], "reserved_shared_bytes": 0, "scalar_registers": 0,
              "static_shared_bytes": 0, "tensor_memory_columns": 0, "warp_threads": 32, "warps": 0}
    fields.update(kernel or {})
    whole = {"backend": "cuda", "isa_version": "9.0", "kernels": [fields], "kind": "ptx", "launch_binary": "k.ptx", "reader_revision": 1, "schema": 2, "target": "sm_90"}
    whole.update(changes)
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def disagreements():
    clustered = ".reqntid 128\n.reqnctapercluster 2\n"
    pairs = [
        (metadata(), ptx()), (metadata(name="j"), ptx()), (metadata(name="j"), ptx(more=".entry z() {}\n")), (metadata(target=target(arch=80)), ptx()),
        (metadata(target=target(arch=0)), ptx()), (metadata(target=target(arch="gfx942")), ptx()), (metadata(target=target(backend="hip", arch="gfx942")), ptx()),
        (metadata(target=target(backend="new", arch="x1")), ptx()), (metadata(target=target(backend="new", arch=7)), ptx()), (metadata(target=target(backend="new", arch=[])), ptx()),
        (metadata(target=target(warp_size=64)), ptx()), (metadata(warp_size=64), ptx()), (metadata(num_warps=8), ptx()), (metadata(), ptx(bounds=".reqntid 64, 2\n")),
        (metadata(num_warps=8), ptx(bounds=".maxntid 128\n")), (metadata(), ptx(bounds=".maxntid 1024\n")), (metadata(num_ctas=2), ptx()), (metadata(num_ctas=2), ptx(bounds=clustered)),
        (metadata(num_ctas=2, triton_version="3.4.0"), ptx()), (metadata(num_ctas=2, triton_version="3.4.0"), ptx(target="sm_80", bounds=".reqntid 128\n")),
        (metadata(num_ctas=2, triton_version="3.4.0", target=target(arch=80)), ptx(target="sm_80")), (metadata(num_ctas=2), ptx(bounds=clustered + ".blocksareclusters\n")),
        (metadata(num_ctas=2, cluster_dims=[2, 1, 1]), ptx(bounds=clustered)), (metadata(num_ctas=2, cluster_dims=[1, 2, 1]), ptx(bounds=clustered)),
        (metadata(num_ctas=1, cluster_dims=[2, 1, 1]), ptx()), (metadata(num_ctas=2, cluster_dims=[1, 1, 1], triton_version="3.4.0"), ptx()),
        (metadata(num_ctas=2, cluster_dims=[2, 2, 1]), ptx(bounds=clustered)), (metadata(num_ctas=2), ptx(bounds=".reqntid 128\n.reqnctapercluster 1, 2\n")),
        (metadata(num_ctas=4294967295), ptx(bounds=".reqntid 128\n.reqnctapercluster 4294967295, 4294967295, 4294967295\n")),
        (metadata(cluster_dims=[4294967295] * 3), ptx()), (metadata(tmem_size=4), ptx()), (metadata(tmem_size=4, target=target(arch=100)), ptx(target="sm_100a")),
        (metadata(), ptx(parameters=("u64", "u32"))), (metadata(), ptx(parameters=("u32", "u64"))), (metadata(), ptx(parameters=("u64",))), (metadata(), ptx(parameters=())),
        (metadata(triton_version="3.4.0"), ptx(parameters=("u32",))), (metadata(triton_version="3.4.0"), ptx()), (metadata(drop=("triton_version",)), ptx()),
        (metadata(global_scratch_size=256, global_scratch_align=16, profile_scratch_size=64, shared=1024, launch_pdl=True, launch_cooperative_grid=True), ptx()),
        (metadata(global_scratch_align=None, profile_scratch_size=None), ptx()), (metadata(shared=4294967295), ptx()), (metadata(), b"x"), (metadata(), b""), (metadata(), b".version"),
        (metadata(triton_version="x"), ptx()), (metadata(triton_version="4"), ptx()), (metadata(triton_version="3."), ptx()), (metadata(triton_version=3), ptx()), (metadata(triton_version="3.99999999999"), ptx()),
        *[(metadata(drop=(key,)), ptx()) for key in ("hash", "target", "num_warps", "num_ctas", "shared", "name", "tmem_size", "warp_size", "num_stages")],
        *[(metadata(target=target(**{key: Ellipsis})), ptx()) for key in ("backend", "arch", "warp_size")],
        *[(metadata(**{key: value}), ptx()) for key in ("num_warps", "shared", "name", "global_scratch_size", "global_scratch_align", "launch_pdl", "cluster_dims", "target") for value in
          (0, -1, 3, "x", "", None, 1.5, [1, 1], [1, 1, 0], [1, "x", 1], 1 << 33, True)],
        (metadata(name="k\0j"), ptx()), (metadata().replace(b'"k"', b'"\\ud800"'), ptx()), (b"{}", ptx()), (b"[]", ptx()), (b"", ptx()), (b"{", ptx()),
        (contract(), ptx()), (contract(reader_revision=9), ptx()), (contract({"registers": 3}), ptx()), (contract({"dynamic_shared_bytes": 512, "warps": 4}), ptx()), (contract({"name": "j"}), ptx()),
        (contract({"dynamic_shared_bytes": 512, "name": "j"}, reader_revision=9), ptx()), (contract(schema=1), ptx()), (contract(backend="hip"), ptx()), (contract(target="sm_80"), ptx()), (contract(), b"x"),
        (b'{"contract":' + contract() + b"}", ptx()), (contract(launch_binary="other"), ptx()), (contract(), ptx(parameters=("u64",))),
        (contract({"params": [dict(json.loads(contract())["kernels"][0]["params"][0], role="global_scratch")], "param_bytes": 8}, reader_revision=9), ptx()),
        (contract({"params": [dict(json.loads(contract())["kernels"][0]["params"][0], role="global_scratch")], "param_bytes": 8, "name": "j"}, reader_revision=9), ptx()),
    ]
    hip = target(backend="hip", arch="gfx90a", warp_size=64)
    hip_metadata = dict(target=hip, warp_size=64, num_warps=2, triton_version="3.4.0")
    for changes in ({}, {"target": dict(hip, arch="gfx90a:sramecc+")}, {"target": dict(hip, arch="gfx90a:sramecc-")}, {"target": dict(hip, arch="gfx90a:xnack+")}, {"target": dict(hip, arch="gfx942")},
                    {"target": dict(hip, arch="what")}, {"target": dict(hip, arch=90)}, {"shared": 4294967295}, {"num_ctas": 2}, {"target": dict(hip, warp_size=32)}, {"num_warps": 64}, {"tmem_size": 1}):
        pairs.append((metadata(**{**hip_metadata, **changes}), hsaco(kernels=[kernel_map(reqd_workgroup_size=Ellipsis, max_flat_workgroup_size=256)])))
    pairs.append((metadata(target=dict(hip, arch="gfx1250", warp_size=32), warp_size=32, num_ctas=2, triton_version="3.4.0"),
                  hsaco(kernels=[kernel_map(reqd_workgroup_size=Ellipsis, wavefront_size=32)], target="amdgcn-amd-amdhsa--gfx1250", flags=0x249)))
    # A cubin whose kernel uses dynamic shared memory only: the section holds the reserved KiB.
    cubin = bytearray((CORPUS / "fuzz_cubin/written_sm90a_odd").read_bytes())
    fields = dict(target=target(), name=cubin_kernel(cubin), num_warps=4)
    fields_of_32 = ("triton_version",)
    pairs.append((metadata(fields_of_32, **fields), bytes(cubin)))
    table, count = struct.unpack_from("<Q", cubin, 40)[0], struct.unpack_from("<H", cubin, 60)[0]
    for i in range(count):
        if struct.unpack_from("<I", cubin, table + 64 * i + 4)[0] == 8:
            struct.pack_into("<Q", cubin, table + 64 * i + 32, 1024)
    pairs += [(metadata(fields_of_32, **{**fields, "shared": shared}), bytes(cubin)) for shared in (0, 64, 4294967295)]
    for text, binary in pairs:
        put("fuzz_triton_metadata", text + b"\0" + binary)


def cubin_kernel(cubin):
    """The first name of .strtab, which is the kernel's in what fuzz_write_cubin.c makes."""
    table = struct.unpack_from("<Q", cubin, 40)[0]
    at = struct.unpack_from("<Q", cubin, table + 64 * 2 + 24)[0] + 1
    return bytes(cubin[at : cubin.index(b"\0", at)]).decode()


# ---- host shared objects ----

def record(name=b"k", version=1, size=None, shared=0, params=1, kind=1, param_name=b"p", param_size=8, alignment=8, reserved=0, count=None):
    one = param_name.ljust(32, b"\0") + struct.pack("<III", param_size, alignment, kind) + bytes(16) + struct.pack("<I", reserved)
    size = 256 + 64 * params if size is None else size
    return struct.pack("<IIII", version, size, shared, params if count is None else count) + name.ljust(128, b"\0") + bytes(108) + struct.pack("<I", reserved if params == 0 else 0) + one * params


def host(records=None, needed=(b"libc.so.6",), tags=(), functions=(b"k",), info=0x12, other=0, section=2, value=None, dynamic_end=True, dynamics=1, order=False, strings_at=None, symbols_at=None,
         strings_size=None, dynsym=True, machine=62, kernels_name=b".slipway.kernels", kernels_kind=1, code_flags=5, dynamic_where=None):
    strings = b"\0" + b"".join(n + b"\0" for n in (*functions, *needed))
    at = lambda n: strings.index(b"\0" + n + b"\0") + 1
    data = [kernels := records if records is not None else record(), b"\xc3" * 64, strings]
    base = 64 + 56 * 4
    places = []
    body = b""
    for part in data:
        body += b"\0" * (-(base + len(body)) % 64)
        places.append(base + len(body))
        body += part
    body += b"\0" * (-(base + len(body)) % 8)
    symbols_place = base + len(body)
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", at(f), info, other, section, places[1] if value is None else value, 16) for f in functions)
    body += symbols
    dynamic_place = base + len(body)
    entries = [(5, places[2] if strings_at is None else strings_at), (10, len(strings) if strings_size is None else strings_size),
               (6, symbols_place if symbols_at is None else symbols_at), (11, 24), *[(1, at(n)) for n in needed], *tags]
    dynamic = b"".join(struct.pack("<QQ", *e) for e in entries) + (bytes(16) if dynamic_end else b"")
    body += dynamic
    end = base + len(body)
    sections = [(kernels_name, kernels_kind, places[0], len(kernels), 0), (b".text", 1, places[1], 64, 0), (b".dynstr", 3, places[2], len(strings), 0),
                (b".dynsym", 11 if dynsym else 1, symbols_place, len(symbols), 3)]
    names = b"\0" + b"".join(s[0] + b"\0" for s in sections) + b".shstrtab\0"
    heads = [bytes(64)] + [struct.pack("<IIQQQQIIQQ", names.index(b"\0" + n + b"\0") + 1, kind, 2, where, where, length, link, 0, 8, 24 if kind == 11 else 0)
                           for n, kind, where, length, link in sections]
    heads.append(struct.pack("<IIQQQQIIQQ", names.index(b".shstrtab"), 3, 0, 0, end, len(names), 0, 0, 1, 0))
    body += names
    body += b"\0" * (-(base + len(body)) % 8)
    loads = [struct.pack("<IIQQQQQQ", 1, code_flags, 0, 0, 0, end, end, 8), struct.pack("<IIQQQQQQ", 1, 4, 0, 1 << 20, 1 << 20, 64, 64, 8)]
    if order:
        loads.reverse()
    where = dynamic_place if dynamic_where is None else dynamic_where
    loads += [struct.pack("<IIQQQQQQ", 2, 6, dynamic_place, where, where, len(dynamic), len(dynamic), 8)] * dynamics
    loads += [bytes(56)] * (4 - len(loads))
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, base + len(body), 0, 64, 56, 4, 64, len(heads), len(heads) - 1)
    return head + b"".join(loads[:4]) + body + b"".join(heads)


def hosts():
    variants = [
        {}, *[{"needed": (n,)} for n in (b"libm.so.6", b"libgcc_s.so.1", b"libatomic.so.1", b"libc.so", b"libc.musl-x86_64.so.1", b"libc.musl-x/y", b"libcuda.so.1", b"")], {"needed": ()},
        *[{"tags": ((t, 1),)} for t in (15, 29, 0x6FFFFEFA, 0x6FFFFEFB, 0x6FFFFEFC, 0x7FFFFFFD, 0x7FFFFFFF, 30)], {"tags": ((1, 9999),)}, {"dynamic_end": False}, {"dynamics": 0}, {"dynamics": 2},
        {"order": True}, {"strings_at": 1 << 40}, {"strings_size": 1 << 40}, {"symbols_at": 8}, {"dynsym": False}, {"functions": ()}, {"functions": (b"k", b"k")}, {"functions": (b"other",)}, {"info": 0x11},
        {"info": 0x02}, {"info": 0x22}, {"other": 2}, {"other": 3}, {"section": 0}, {"section": 0xFFF1}, {"value": 1 << 20}, {"value": 1 << 50}, {"code_flags": 4}, {"dynamic_where": 1 << 20}, {"machine": 183},
        {"machine": 3}, {"machine": 40}, {"machine": 243}, {"machine": 190}, {"machine": 224}, {"machine": 9}, {"kernels_name": b".other"}, {"kernels_kind": 8}, {"records": b""}, {"records": record() + b"\0" * 64},
        {"functions": (b"k" * 200, b"k")},
    ]
    records = [record(params=0), record(params=64), record(params=65, count=65), record(version=2), record(version=0), record(size=256), record(size=1 << 31), record(count=9), record(shared=16), record(shared=8), record(name=b""),
               record(name=b"k" * 128), record(name=b"k\x01"), record(name=b"k k"), record(kind=0), record(kind=6), record(param_name=b"p" * 32), record(param_name=b""), record(param_name=b"\x01"), record(param_size=0),
               record(param_size=1 << 30), record(alignment=0), record(alignment=3), record(alignment=1 << 20), record(reserved=1), record(params=0, reserved=1), record() + record(), record()[:-64], record()[:200],
               record()[:3], record() + record(name=b"j"), record(kind=5, param_size=100, alignment=4), record(kind=4, param_size=4, alignment=4), record(shared=1 << 31)]
    for variant in variants + [{"records": r} for r in records] + [{"records": record() + record(name=b"a"), "functions": (b"a", b"k")}]:
        put("fuzz_host_binary", host(**variant))


# ---- cubins: numbers of what fuzz_write_cubin.c makes, one at a time ----

def cubins():
    whole = (CORPUS / "fuzz_cubin/written_sm90a_odd").read_bytes()
    table, count = struct.unpack_from("<Q", whole, 40)[0], struct.unpack_from("<H", whole, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", whole, table + 64 * i) for i in range(count)]

    def patched(*changes):
        data = bytearray(whole)
        for at, raw in changes:
            data[at : at + len(raw)] = raw
        return bytes(data)

    u16, u32, u64 = (lambda v: struct.pack("<H", v)), (lambda v: struct.pack("<I", v)), (lambda v: struct.pack("<Q", v))
    names = {}
    strings = sections[1][4]
    for i, section in enumerate(sections):
        name = whole[strings + section[0] : whole.index(b"\0", strings + section[0])].decode()
        names.setdefault(name[: 8 if name.startswith((".text.", ".nv.info.", ".nv.sha", ".nv.con")) else 99], i)
    header = lambda name, field: table + 64 * names[name] + {"name": 0, "type": 4, "offset": 24, "size": 32, "link": 40, "info": 44, "entry": 56}[field]
    start = lambda name: sections[names[name]][4]
    symbol = start(".symtab") + 24
    info = start(".nv.info") if ".nv.info" in names else 0
    for change in [
        (7, b"\x33\x07"), (7, b"\x33\x08"), (7, b"\x41\x07"), (7, b"\x00\x00"), (7, b"\x29\x09"), (16, u16(1)), (16, u16(3)), (18, u16(62)), (48, u32(0)), (48, u32(0x06000004)), (60, u16(0)), (60, u16(1)),
        (62, u16(0)), (62, u16(2)), (62, u16(999)), (58, u16(63)), (40, u64(1 << 60)), (40, u64(8)),
        *[(header(n, f), v) for n in (".symtab", ".strtab", ".nv.info", ".nv.compat", ".note.nv.cuinfo") for f, v in (("type", u32(1)), ("type", u32(8)), ("size", u64(0)), ("size", u64(7)), ("size", u64(1 << 60)),
                                                                                                                  ("offset", u64(0)), ("link", u32(0)), ("link", u32(99)), ("name", u32(1 << 20)), ("entry", u64(16)))],
        *[(symbol + o, v) for o, v in ((0, u32(0)), (0, u32(1 << 20)), (4, b"\x11"), (4, b"\x02"), (4, b"\x22"), (5, b"\x00"), (6, u16(0)), (6, u16(1)), (6, u16(0xFFF1)), (6, u16(999)))],
        *[(info + o, v) for o, v in ((0, b"\x05"), (0, b"\x00"), (2, u16(9)), (2, u16(4)), (2, u16(0xFFFF)), (4, u32(0)), (4, u32(99)), (8, u32(9999)))],
    ]:
        put("fuzz_cubin", patched(change))
    # Each byte of each record of the kernel and of .nv.compat: the format, the attribute, the size, the payload.
    for name in [n for n in names if n.startswith(".nv.info.")] + [".nv.compat"]:
        at, end = start(name), start(name) + sections[names[name]][5]
        while at + 4 <= end:
            size = struct.unpack_from("<H", whole, at + 2)[0] if whole[at] == 4 else 0
            for change in ((at, b"\x09"), (at, b"\x01"), (at + 1, b"\xee"), (at + 2, u16(size + 4)), (at + 2, u16(0xFFFF)), (at + 4, b"\xff" * min(size, 4)), (at + 8, b"\xff" * min(size - 4, 4) if size > 4 else b"")):
                if change[1]:
                    put("fuzz_cubin", patched(change))
            at += 4 + size
    for name in names: # two sections of one name
        for other in (".nv.compat", ".nv.info", ".symtab"):
            if name != other and other in names:
                put("fuzz_cubin", patched((header(name, "name"), whole[header(other, "name") : header(other, "name") + 8])))


if __name__ == "__main__":
    os.umask(0o022)
    triton()
    same_kernel()
    fatbins()
    bundles()
    inspections()
    amdgcn()
    texts()
    disagreements()
    hosts()
    cubins()
