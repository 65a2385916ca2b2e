"""Arrays drawn at random from types x codecs x ranks x fill values x layouts, the same ones in every run.

Each is written by one of three writers. Only what a writer can write and read back is drawn: the tables say what that is.
"""

import base64
import dataclasses
import functools
import itertools
import zlib

import ml_dtypes
import numpy as np
from arrays import CRC32C, GZIP, ZSTD, ZSTD_CHECKSUM, blosc, bytes_codec, sharding, transpose

NOT_A_TIME = -2**63


def configured(name, **configuration):
    return {"name": name, "configuration": configuration}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A data type."""

    name: str
    data_type: object          # as in zarr.json
    dtype: np.dtype            # little-endian
    fills: tuple               # as in zarr.json
    writers: tuple = ("zarr-python", "zarrs", "tensorstore")
    count: int = 13            # arrays of it

    @property
    def is_text(self):
        return self.dtype == object

    @property
    def has_byte_order(self):
        return not self.is_text and self.dtype.kind not in "bSV" and self.dtype.itemsize > 1 or self.name == "bfloat16"

    @property
    def is_narrow(self):
        """Smaller than numpy's own types: only tensorstore knows them."""
        return self.writers == ("tensorstore",)


def core(name, *fills, **more):
    return Kind(name, name, np.dtype(name).newbyteorder("<"), fills, **more)


def narrow(name, *fills):
    return Kind(name, name, np.dtype(getattr(ml_dtypes, name)), fills, ("tensorstore",), 6)


def of_zarr_python(name, data_type, dtype, *fills, count=6):
    return Kind(name, data_type, np.dtype(dtype), fills, ("zarr-python",), count)


def date(kind, unit, scale, *fills):
    code = "M8" if kind == "datetime" else "m8"
    return of_zarr_python(
        f"{kind}_{'' if scale == 1 else scale}{unit}", configured(f"numpy.{kind}64", unit=unit, scale_factor=scale),
        f"<{code}[{'' if scale == 1 else scale}{unit}]", *fills, count=5)


def b64(data):
    return base64.b64encode(data).decode()


NUMBERS = [("i", "int32"), ("x", "float64"), ("y", "uint8")]
STRUCT = np.dtype([("i", "<i4"), ("x", "<f8"), ("y", "|u1")])
TEXT_FIELDS = [["tag", configured("null_terminated_bytes", length_bytes=3)], ["n", "int16"]]
TEXT_STRUCT = np.dtype([("tag", "|S3"), ("n", "<i2")])

KINDS = [
    core("bool", False, True),
    *(core(name, 0, 7, int(np.iinfo(name).min), int(np.iinfo(name).max))
      for name in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]),
    *(core(name, 0.0, "NaN", -1.5, "-Infinity", -0.0) for name in ["float16", "float32", "float64"]),
    *(core(name, [0.0, 0.0], [1.5, -2.0]) for name in ["complex64", "complex128"]),
    narrow("bfloat16", 0.0, 1.5, "NaN"), narrow("int4", 0, -3), narrow("int2", 0, 1),
    *(narrow(name, 0.0, 1.5) for name in ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3fnuz", "float8_e4m3b11fnuz"]),
    narrow("float8_e8m0fnu", 1.0, 2.0), narrow("float4_e2m1fn", 0.0, 1.5),
    of_zarr_python("utf32", configured("fixed_length_utf32", length_bytes=20), "<U5", "", "né", count=8),
    of_zarr_python("null_terminated", configured("null_terminated_bytes", length_bytes=4), "|S4", "", b64(b"ab")),
    of_zarr_python("raw", configured("raw_bytes", length_bytes=3), "|V3", b64(b"\0\0\0"), b64(b"\1\2\0")),
    date("datetime", "s", 1, NOT_A_TIME, 0), date("datetime", "D", 1, NOT_A_TIME), date("datetime", "ns", 1, NOT_A_TIME, 5),
    date("datetime", "us", 10, NOT_A_TIME), date("timedelta", "ms", 1, 0, NOT_A_TIME), date("timedelta", "h", 1, 3),
    of_zarr_python("structured", configured("structured", fields=[list(field) for field in NUMBERS]), STRUCT,
                   b64(bytes(STRUCT.itemsize)), b64(np.array((7, -1.5, 3), STRUCT).tobytes()), count=8),
    of_zarr_python("structured_text", configured("structured", fields=TEXT_FIELDS), TEXT_STRUCT, b64(bytes(TEXT_STRUCT.itemsize))),
    Kind("string", "string", np.dtype(object), ("", "né"), ("zarr-python", "zarrs"), 10),
    of_zarr_python("variable_length_bytes", "variable_length_bytes", object, "", b64(b"ab"), count=8),
]


def numcodecs(name, **configuration):
    return configured(f"numcodecs.{name}", **configuration)


SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]

# name -> codecs from bytes to bytes; None stands for the size of an element.
COMPRESSIONS = {
    "none": [],
    "gzip": [GZIP],
    "zstd": [ZSTD],
    "zstd-checksum": [ZSTD_CHECKSUM],
    **{f"blosc-{cname}-{shuffle}": [blosc(cname, shuffle, None)]
       for cname, shuffle in itertools.product(["blosclz", "lz4", "lz4hc", "zlib", "zstd"], SHUFFLES)},
    "crc32c": [CRC32C],
    "gzip-crc32c": [GZIP, CRC32C],
    "zstd-crc32c": [ZSTD, CRC32C],
    "blosc-crc32c": [blosc("lz4", "shuffle", None), CRC32C],
    "gzip-zstd": [GZIP, ZSTD],
    "zstd-zstd": [ZSTD, ZSTD],
    "crc32c-zstd": [CRC32C, ZSTD],
    "crc32c-gzip-crc32c": [CRC32C, GZIP, CRC32C],
}
OF_NUMCODECS = {
    "numcodecs.zlib": [numcodecs("zlib", level=4)],
    "numcodecs.bz2": [numcodecs("bz2", level=1)],
    "numcodecs.lzma": [numcodecs("lzma", format=1, check=-1, preset=None, filters=None)],
    "numcodecs.lz4": [numcodecs("lz4", acceleration=1)],
    "numcodecs.shuffle": [numcodecs("shuffle", elementsize=None), numcodecs("zlib", level=1)],
    "numcodecs.crc32": [numcodecs("crc32")],
    "numcodecs.crc32-end": [ZSTD, numcodecs("crc32", location="end")],
    "numcodecs.adler32": [GZIP, numcodecs("adler32")],
    "numcodecs.fletcher32": [numcodecs("zlib", level=4), numcodecs("fletcher32")],
    "numcodecs.jenkins_lookup3": [GZIP, numcodecs("jenkins_lookup3", initval=0, prefix=None)],
}
OF_ZARRS = ["numcodecs.zlib", "numcodecs.bz2", "numcodecs.shuffle"]

# name -> kinds of data types, the codec from array to array.
FILTERS = {
    "numcodecs.delta": ("iu", lambda dtype: numcodecs("delta", dtype=dtype.str, astype=dtype.str)),
    "numcodecs.bitround": ("f", lambda dtype: numcodecs("bitround", keepbits=6)),
    "numcodecs.quantize": ("f", lambda dtype: numcodecs("quantize", digits=1, dtype=dtype.str, astype=dtype.str)),
    "numcodecs.fixedscaleoffset": ("f", lambda dtype: numcodecs(
        "fixedscaleoffset", offset=-20, scale=8, dtype=dtype.str, astype="<i4")),
    "numcodecs.astype": ("i", lambda dtype: numcodecs("astype", encode_dtype="<i8", decode_dtype=dtype.str)),
    "numcodecs.packbits": ("b", lambda dtype: numcodecs("packbits")),
}

LAYOUTS = ["unsharded", "unsharded", "sharded", "sharded", "index-start", "index-unchecked", "nested", "nested-start"]
KEYS = [("default", "/")] * 3 + [("default", "."), ("v2", "."), ("v2", "/")]


@dataclasses.dataclass(frozen=True)
class Generated:
    name: str             # path in the store: type/number
    kind: Kind
    writer: str
    features: tuple       # compression, filter, order, layout, names: what was drawn, for who reads a failure
    document: dict        # zarr.json
    chunks: tuple         # of the innermost chunks
    inner_codecs: tuple   # theirs
    regions: tuple

    def __str__(self):
        return "-".join([self.name.replace("/", "-"), self.writer, *self.features])

    @property
    def shape(self):
        return tuple(self.document["shape"])

    def metadata(self):
        return self.document

    def written(self):
        """Compressible values, extreme ones among them."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        return values_of(self.kind, random, int(np.prod(self.shape, dtype=int)), "fixedscaleoffset" in str(self.features)
                         ).reshape(self.shape)


def values_of(kind, random, count, only_small):
    dtype = kind.dtype
    small = random.integers(0, 60, count)
    if kind.name == "string":
        return np.array(["", "a", "größe", "日本", "x" * 40] * (count // 5 + 1), object)[small[:count] % 5]
    if kind.name == "variable_length_bytes":
        return np.array([b"", b"a", b"\0\xff", b"x" * 40] * (count // 4 + 1), object)[small[:count] % 4]
    if dtype.kind == "U":
        return np.array(["", "a", "größe", "日本\U0001f600"], dtype)[small % 4]
    if dtype.kind == "S":
        return np.array([b"", b"a", b"bcde", b"xy"], dtype)[small % 4]
    if kind.name == "raw" or dtype == TEXT_STRUCT:
        table = [(b"abc", -7), (b"", 3), (b"z", 1)] if dtype == TEXT_STRUCT else [b"\1\2\3", b"\0\0\1", b"\xff\0\0"]
        return np.array(table, dtype)[small % 3]
    if dtype == STRUCT:
        values = np.zeros(count, dtype)
        values["i"], values["x"], values["y"] = small * -1000, small / 8, small
        return values
    if dtype.kind in "mM":
        numbers = small * 10**6 - 5
        numbers[::7] = NOT_A_TIME
        return numbers.view(dtype)
    if dtype.kind == "b":
        return small % 3 == 0
    if kind.name in ("int4", "int2"):
        return (small % 4 - 2).astype(dtype)
    if kind.is_narrow:
        return np.maximum(small % 6, 1 if "e8m0" in kind.name else 0).astype("float32").astype(dtype)
    if dtype.kind == "c":
        return (small / 8 - 1j * small[::-1]).astype(dtype)
    values = (small / 8 - 3).astype(dtype) if dtype.kind == "f" else small.astype(dtype)
    if not only_small:
        limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        extremes = [limits.min, limits.max] + ([np.nan, np.inf, -0.0] if dtype.kind == "f" else [])
        for i, extreme in enumerate(extremes):
            values[i + 1::17] = extreme
    return values


class Drawing:
    """One array, from a random generator of its own."""

    def __init__(self, number, kind):
        self.random = np.random.default_rng([20, number])
        self.number, self.kind = number, kind
        self.writer = self.one(kind.writers)

    def one(self, items):
        return items[int(self.random.integers(len(items)))]

    def chance(self, percent):
        return self.random.integers(100) < percent

    def compression(self):
        names = list(COMPRESSIONS)
        if self.writer == "zarr-python":
            names += list(OF_NUMCODECS) * 2
        elif self.writer == "zarrs":
            names += OF_ZARRS
        blosc_names = [name for name in names if name.startswith("blosc-") and name != "blosc-crc32c"]
        name = self.one([name for name in names if name not in blosc_names] + ["blosc"] * 4)
        name = self.one(blosc_names) if name == "blosc" else name
        size = 1 if self.kind.is_text else self.kind.dtype.itemsize
        codecs = []
        for codec in (COMPRESSIONS | OF_NUMCODECS)[name]:
            configuration = {key: size if value is None and key in ("typesize", "elementsize") else value
                             for key, value in codec.get("configuration", {}).items()}
            codecs.append({**codec, **({"configuration": configuration} if configuration else {})})
        return name, codecs

    def filter(self):
        if self.writer != "zarr-python" or not self.chance(25):
            return "", []
        fitting = [name for name, (kinds, _) in FILTERS.items() if self.kind.dtype.kind in kinds]
        if not fitting or self.kind.dtype == "float16":
            return "", []
        name = self.one(fitting)
        return name, [FILTERS[name][1](self.kind.dtype)]

    def order(self, rank):
        """Transposes, of innermost chunks."""
        if rank < 2 or not self.chance(40):
            return "C", []
        if self.chance(40):
            return "F", [transpose(*reversed(range(rank)))]
        first = transpose(*self.random.permutation(rank).tolist())
        if self.chance(25):
            return "two-transposes", [first, transpose(*self.random.permutation(rank).tolist())]
        return "transposed", [first]

    def make(self):
        kind = self.kind
        rank = self.one([0, 1, 1, 2, 2, 2, 3, 3, 4])
        layout = self.one(LAYOUTS)
        if (rank == 0 or kind.dtype.kind == "V" and not kind.is_narrow) and self.writer != "tensorstore":
            layout = "unsharded"  # zarr-python shards no scalars, and nothing whose fill value cannot be hashed.
        inner = self.random.integers(1, 5 if rank < 3 else 4, rank)
        grids = [inner]  # from the innermost chunk outwards
        for _ in range({"unsharded": 0, "nested": 2, "nested-start": 2}.get(layout, 1)):
            grids.append(grids[-1] * self.random.integers(1, 4 if rank < 3 else 3, rank))
        shape = np.maximum(1, grids[-1] * self.random.integers(50, 250 if rank < 3 else 180, rank) // 100)
        if rank and self.chance(4) and self.writer != "tensorstore":
            shape[0] = 0

        compression, compressors = self.compression()
        order, transposes = self.order(rank)
        filter_, filters = self.filter() if order == "C" else ("", [])
        if kind.is_text:
            order, transposes = "C", []
            to_bytes = {"name": "vlen-utf8" if kind.name == "string" else "vlen-bytes"}
        else:
            # (Filters of zarr-python, and zarrs where it overwrites a part of complex numbers, mistake big-endian elements.)
            may_be_big = not filter_ and not (self.writer == "zarrs" and kind.dtype.kind == "c")
            endian = self.one(["little", "little", "big" if may_be_big else "little"])
            to_bytes = bytes_codec(endian if kind.has_byte_order else None)
        codecs = inner_codecs = [*transposes, *filters, to_bytes, *compressors]

        index = [bytes_codec("big" if self.chance(15) else "little")] + ([] if layout == "index-unchecked" else [CRC32C])
        for chunks in grids[:-1]:
            codecs = [sharding(chunks.tolist(), codecs, index, "start" if layout.endswith("start") else "end")]
        key_kind, separator = self.one(KEYS)
        names = None
        if self.chance(60):
            names = [f"x{self.number}_{d}" for d in range(rank)]
            if rank and self.chance(15) and rank > 1:  # (of nothing but nulls some writers make none)
                names[0] = None
        return Generated(
            f"{kind.name}/a{self.number}", kind, self.writer,
            (compression, *filter(None, [filter_]), order, layout), {
                "zarr_format": 3, "node_type": "array", "shape": shape.tolist(), "data_type": kind.data_type,
                "chunk_grid": configured("regular", chunk_shape=grids[-1].tolist()),
                "chunk_key_encoding": configured(key_kind, separator=separator), "fill_value": self.one(kind.fills),
                "codecs": codecs, "attributes": self.attributes(), **({} if names is None else {"dimension_names": names})},
            tuple(inner.tolist()), tuple(inner_codecs), self.regions(shape))

    def attributes(self):
        attributes = {"units": "°C", "levels": [1, 2.5], "nested": {"a": [None, True]}} if self.chance(20) else {}
        if self.kind.dtype.kind in "iuf" and not self.kind.is_narrow and self.chance(30):
            is_float = self.kind.dtype.kind == "f"
            attributes["_FillValue"] = self.one(["NaN", b64(np.float64(-3).tobytes()), 4.5] if is_float else [5, 100])
        return attributes

    def regions(self, shape):
        """What is written: everything, or a corner and a slice, or nothing."""
        which = self.one(["all", "all", "some", "some", "some", "nothing"])
        if which == "all" or self.kind.name == "float8_e8m0fnu":  # (whose fill value tensorstore misreads)
            return (np.s_[...],)
        if which == "nothing" or not len(shape):
            return ()
        corner = tuple(slice(0, max(1, int(n) // 3)) for n in shape)
        last = tuple(slice(int(n) - max(1, int(n) // 4), int(n)) if n else slice(0, 0) for n in shape)
        return (corner, last)


@functools.cache
def generated():
    numbers = itertools.count()
    return [Drawing(next(numbers), kind).make() for kind in KINDS for _ in range(kind.count)]
