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


if __name__ == "__main__":
    os.umask(0o022)
    triton()
    same_kernel()
    fatbins()
    bundles()
    inspections()
    amdgcn()
