"""The arrays of the matrix: each a zarr.json, the values to write and the regions to write them to.

The same list is written by three writers (write_store); what one of them cannot write stands in UNWRITABLE with the reason.
"""

import base64
import dataclasses
import itertools
import json
import pathlib
import warnings
import zlib

import numpy as np

CRC32C = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
ZSTD_CHECKSUM = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
SLASH = {"name": "default", "configuration": {"separator": "/"}}


def bytes_codec(endian="little"):
    return {"name": "bytes", "configuration": {"endian": endian}} if endian else {"name": "bytes"}


def blosc(cname="lz4", shuffle="shuffle", typesize=2):
    return {"name": "blosc", "configuration": {
        "cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": typesize, "blocksize": 0}}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def sharding(chunks, codecs, index_codecs=(bytes_codec(), CRC32C), location="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(chunks), "codecs": list(codecs), "index_codecs": list(index_codecs),
        "index_location": location}}


@dataclasses.dataclass
class Array:
    name: str                  # path in the store
    shape: tuple
    chunks: tuple              # of the innermost chunks
    codecs: list               # as in zarr.json
    outer: tuple = None        # chunk shape of the grid; None: not sharded, as chunks
    data_type: str = "uint16"
    fill: object = 0           # as in zarr.json
    key_encoding: dict = dataclasses.field(default_factory=lambda: SLASH)
    regions: tuple = ((...,),)
    attributes: dict = dataclasses.field(default_factory=dict)
    dimension_names: list = None

    def __str__(self):
        return self.name

    @property
    def dtype(self):
        return np.dtype(f"V{int(self.data_type[1:]) // 8}" if self.data_type[0] == "r" else self.data_type)

    def metadata(self):
        data_type, fill = self.data_type, self.fill
        if self.dtype.kind == "V":
            data_type = {"name": "raw_bytes", "configuration": {"length_bytes": self.dtype.itemsize}}
            fill = base64.b64encode(bytes(self.fill)).decode()
        document = {
            "zarr_format": 3, "node_type": "array", "shape": list(self.shape), "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.outer or self.chunks)}},
            "chunk_key_encoding": self.key_encoding, "fill_value": fill, "codecs": self.codecs,
            "attributes": self.attributes}
        if self.dimension_names is not None:
            document["dimension_names"] = self.dimension_names
        return document

    def fill_element(self):
        if self.dtype.kind == "c":
            element = np.zeros((), self.dtype)
            element.real, element.imag = (float(part) for part in self.fill)
            return element
        if self.dtype.kind == "V":
            return np.frombuffer(bytes(self.fill), self.dtype)[0]
        return np.array(float(self.fill) if self.dtype.kind == "f" else self.fill, self.dtype)

    def written(self):
        """All values that a writer takes its regions from: compressible, with the extremes of the type among them."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        count = int(np.prod(self.shape, dtype=int))
        kind = self.dtype.kind
        if kind == "V":
            return np.frombuffer(random.bytes(count * self.dtype.itemsize), self.dtype).reshape(self.shape)
        if kind == "b":
            return random.integers(0, 2, count).astype(bool).reshape(self.shape)
        flat = random.integers(1, 120, count)
        if kind == "c":
            flat = (flat / 8 - 1j * flat[::-1]).astype(self.dtype)
            extremes = np.array([complex(-0.0, np.inf), complex(np.nan, -1)], self.dtype)
        elif kind == "f":
            flat = (flat / 8).astype(self.dtype)
            limits = np.finfo(self.dtype)
            extremes = np.array([np.nan, -0.0, np.inf, -np.inf, limits.smallest_subnormal, limits.max, limits.min], self.dtype)
        else:
            flat = flat.astype(self.dtype)
            extremes = np.array([np.iinfo(self.dtype).min, np.iinfo(self.dtype).max], self.dtype)
        if count >= 2 * extremes.size:
            flat[1:2 * extremes.size:2] = extremes
        return flat.reshape(self.shape)

    def expected(self):
        """What every reader must see."""
        values = np.empty(self.shape, self.dtype)
        values[...] = self.fill_element()
        for region in self.regions:
            values[region] = self.written()[region]
        return values


def make_arrays():
    arrays = []

    def add(name, shape=(7, 10), chunks=(2, 3), outer=(4, 6), codecs=None, **more):
        inner = codecs or [bytes_codec(), ZSTD]
        chain = inner if outer is None else [sharding(chunks, inner)]
        arrays.append(Array(name, shape, chunks, chain, outer, **more))

    def add_chain(name, chain, chunks=(2, 3), outer=(4, 6), shape=(7, 10), **more):
        arrays.append(Array(name, shape, chunks, chain, outer, **more))

    # Rank 0 to 5; the grid fits or leaves ragged edges, of shards and of chunks.
    shapes = [
        ((), (), ()), ((12,), (2,), (4,)), ((11,), (2,), (4,)), ((8, 6), (2, 3), (4, 6)), ((9, 10), (2, 3), (4, 6)),
        ((5, 7, 6), (1, 2, 3), (2, 4, 6)), ((3, 5, 4, 6), (1, 2, 2, 3), (2, 4, 2, 6)),
        ((3, 2, 5, 4, 3), (1, 1, 2, 2, 1), (2, 2, 4, 2, 2)), ((1, 1), (2, 3), (4, 6))]
    for shape, chunks, outer in shapes:
        label = "x".join(map(str, shape)) or "scalar"
        add(f"rank/{label}-sharded", shape, chunks, outer)
        add(f"rank/{label}-unsharded", shape, chunks, None)

    # Codecs, in shards and (a few) without.
    for cname, shuffle in itertools.product(["blosclz", "lz4", "lz4hc", "zlib", "zstd"], ["noshuffle", "shuffle", "bitshuffle"]):
        add(f"codec/blosc-{cname}-{shuffle}", (20, 30), (10, 15), (20, 30), [bytes_codec(), blosc(cname, shuffle)])
    compressors = {"none": [], "gzip": [GZIP], "zstd": [ZSTD], "zstd-checksum": [ZSTD_CHECKSUM], "blosc": [blosc()]}
    for label, compressor in compressors.items():
        add(f"codec/{label}", codecs=[bytes_codec(), *compressor])
        add(f"codec/{label}-crc32c", codecs=[bytes_codec(), *compressor, CRC32C])
        add(f"codec/{label}-unsharded", outer=None, codecs=[bytes_codec(), *compressor])
        add(f"codec/{label}-crc32c-unsharded", outer=None, codecs=[bytes_codec(), *compressor, CRC32C])
        add(f"codec/{label}-f-order", codecs=[transpose(1, 0), bytes_codec(), *compressor])
    add("codec/f-order-3d", (5, 7, 6), (1, 2, 3), (2, 4, 6), [transpose(2, 1, 0), bytes_codec(), ZSTD])
    add("codec/f-order-unsharded", outer=None, codecs=[transpose(1, 0), bytes_codec(), GZIP])
    add("codec/identity-order", codecs=[transpose(0, 1), bytes_codec(), ZSTD])
    add("codec/two-transposes", (5, 7, 6), (1, 2, 3), (2, 4, 6),
        [transpose(1, 2, 0), transpose(1, 0, 2), bytes_codec(), ZSTD])

    # Every core type in both byte orders.
    types = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
             "float64", "complex64", "complex128", "r8", "r24"]
    for name in types:
        fill = (False if name == "bool" else [0.0, 0.0] if name[0] == "c" else [0] * (int(name[1:]) // 8) if name[0] == "r"
                else 0.0 if name[0] == "f" else 0)
        single = name in ("bool", "int8", "uint8") or name[0] == "r"
        for endian in [] if name[0] == "r" else [None] if single else ["little", "big"]:  # No writer shards opaque bytes.
            label = name if single else f"{name}-{endian}"
            add(f"type/{label}", codecs=[bytes_codec(endian), GZIP], data_type=name, fill=fill)
        add(f"type/{name}-raw-unsharded", outer=None, codecs=[bytes_codec(None if single else "big")], data_type=name, fill=fill)

    # Fill values, seen where a chunk (second region) and whole shards are missing.
    fills = [
        ("float32", "NaN"), ("float64", "NaN"), ("float16", "NaN"), ("float32", -0.0), ("float64", -0.0), ("float64", "Infinity"),
        ("float32", "-Infinity"), ("float32", 0.1), ("float64", 0.1), ("float16", 0.0999755859375), ("int64", 2**63 - 1),
        ("int64", -(2**63)), ("int64", 2**53 + 1), ("uint64", 2**64 - 1), ("int8", -128), ("bool", True), ("complex64", [1.5, "NaN"]),
        ("complex128", ["-Infinity", -0.0])]
    for number, (name, fill) in enumerate(fills):
        add(f"fill/{number}-{name}", data_type=name, fill=fill, regions=(np.s_[:2, :3],),
            codecs=[bytes_codec(None if name in ("int8", "bool") else "little"), GZIP])

    add("fill/r24-unsharded", outer=None, data_type="r24", fill=[1, 2, 255], regions=(np.s_[:2, :3],), codecs=[bytes_codec(None)])

    # Missing chunks and shards.
    add("missing/nothing-written", fill=7, regions=())
    add("missing/chunk-in-shard", fill=7, regions=(np.s_[:2, :3], np.s_[2:4, 3:6]))
    add("missing/shard", fill=7, regions=(np.s_[4:, 6:],))
    add("missing/chunk-unsharded", outer=None, fill=7, regions=(np.s_[2:4, 3:6],))

    # The index at either end, checked or not, in both byte orders, and transposed.
    for location, crc, endian in itertools.product(["end", "start"], [True, False], ["little", "big"]):
        index = [bytes_codec(endian)] + [CRC32C] * crc
        label = f"{location}-{'crc32c' if crc else 'unchecked'}-{endian}"
        add_chain(f"index/{label}", [sharding((2, 3), [bytes_codec(), GZIP], index, location)])
    add_chain("index/transposed", [sharding((2, 3), [bytes_codec(), GZIP], [transpose(2, 1, 0), bytes_codec(), CRC32C])])

    # Shards in shards, and codecs around shards that leave ranges of them readable.
    inner = sharding((1, 3), [bytes_codec(), ZSTD])
    add_chain("nested/two", [sharding((2, 6), [inner])], (1, 3), (4, 6))
    add_chain("nested/two-index-start", [sharding(
        (2, 6), [sharding((1, 3), [bytes_codec(), ZSTD], location="start")], location="start")], (1, 3), (4, 6))
    add_chain("nested/three", [sharding((4, 6), [sharding((2, 6), [inner])])], (1, 3), (8, 12))
    add_chain("nested/checksum-around-shard", [sharding((2, 3), [bytes_codec(), ZSTD]), CRC32C])
    add_chain("nested/transposed-shard", [transpose(1, 0), sharding((3, 2), [bytes_codec(), ZSTD])])

    # Chunk keys.
    for kind, separator in itertools.product(["default", "v2"], ["/", "."]):
        encoding = {"name": kind, "configuration": {"separator": separator}}
        label = f"{kind}-{'slash' if separator == '/' else 'dot'}"
        add(f"key/{label}", key_encoding=encoding)
        add(f"key/{label}-unsharded", outer=None, key_encoding=encoding)
        add(f"key/{label}-scalar", (), (), None, key_encoding=encoding)

    # Names, attributes.
    add("Grün und 日本/größe ✓")
    add("attributes", attributes={"units": "°C", "long_name": "日本 \U0001f30a", "levels": [1, 2.5, 3], "nested": {"a": [None, True]}},
        dimension_names=["lat", "lon"])
    return arrays


ARRAYS = make_arrays()

WRITERS = ["zarr-python", "zarrs", "tensorstore"]

# (writer, prefix of the array's name): why not.
UNWRITABLE = {
    ("zarrs", "type/r"): "leaves opaque bytes to zarr-python",
    ("zarrs", "fill/r"): "leaves opaque bytes to zarr-python",
    ("tensorstore", "type/r"): "takes opaque bytes for one more dimension",
    ("tensorstore", "fill/r"): "takes opaque bytes for one more dimension",
    ("zarr-python", "rank/scalar-sharded"): "its sharding codec cannot write rank 0 (IndexError)",
    ("zarr-python", "nested/transposed-shard"): "compares the inner chunk shape with the shard's before the transpose",
    ("zarrs", "nested/transposed-shard"): "its metadata are checked by zarr-python",
    ("tensorstore", "nested/checksum-around-shard"): "allows sharding only as the last codec",
}


def writable(writer):
    return [a for a in ARRAYS if not any(w == writer and a.name.startswith(p) for w, p in UNWRITABLE)]


def write_group(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))


def write_store(writer, root, arrays):
    """Writes the arrays below a root group, each zarr.json in the writer's own spelling."""
    write = write_with_tensorstore if writer == "tensorstore" else write_with_zarr_python
    pipeline = "zarrs.ZarrsCodecPipeline" if writer == "zarrs" else "zarr.core.codec_pipeline.BatchedCodecPipeline"
    import zarr

    root = pathlib.Path(root)
    write_group(root)
    with zarr.config.set({"codec_pipeline.path": pipeline}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # zarrs hands what it does not know to zarr-python; then it would be tested twice and zarrs not at all.
        warnings.filterwarnings("error", message="Array is unsupported by ZarrsCodecPipeline")
        for array in arrays:
            folder = root / array.name
            for parent in folder.parents:
                if parent == root:
                    break
                write_group(parent)
            try:
                write(folder, array)
            except Exception as error:
                raise RuntimeError(f"{writer} cannot write {array.name}") from error


def write_with_zarr_python(folder, array):
    import zarr
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.metadata.v3 import ArrayV3Metadata

    metadata = ArrayV3Metadata.from_dict(array.metadata())
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_bytes(metadata.to_buffer_dict(default_buffer_prototype())["zarr.json"].to_bytes())
    target = zarr.open_array(str(folder), mode="r+")
    values = array.written()
    for region in array.regions:
        target[region] = values[region]


def write_with_tensorstore(folder, array):
    import tensorstore

    metadata = {k: v for k, v in array.metadata().items() if k not in ("zarr_format", "node_type")}
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder) + "/"}, "metadata": metadata}
    target = tensorstore.open(spec, create=True).result()
    values = array.written()
    for region in array.regions:
        target[region].write(values[region]).result()
