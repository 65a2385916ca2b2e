"""What each view and each reader makes of a generated array: the one place that says it.

A view serves the chunks of an array exactly as they are stored, or cut (a checksum at either end is left out), or transcoded
(decoded, and perhaps in a wider type), or does not show the array. What it shows, its readers read: each value as it is in the
store, or in a type that holds it, which is said here too.
"""

import base64
import dataclasses
import struct

import numpy as np
from generated import NOT_A_TIME, Generated, Kind
from serving import CUT, EXACT, NOT_SHOWN, TRANSCODED

VIEWS = ["v2", "v3", "gdal", "netcdf"]
ALL_VIEWS = [*VIEWS, "java"]  # also those that the root does not list

CHECKSUMS = [
    "crc32c", "numcodecs.crc32c", "numcodecs.fletcher32", "numcodecs.crc32", "numcodecs.adler32", "numcodecs.jenkins_lookup3"]


# Of numcodecs, which v2 has before a compressor.
FILTERS = ("delta", "fixedscaleoffset", "shuffle")


@dataclasses.dataclass(frozen=True)
class Profile:
    """What the readers of a v2 view can take."""

    refused: str = ""               # kinds of numpy types, "n" for types that numpy has not
    objects: bool = True            # of variable length
    texts: bool = False             # of them, strings as text of a fixed length
    compressors: tuple = ("gzip", "zlib", "zstd", "bz2", "lz4", "lzma", "blosc")
    filters: tuple = ()
    widened: dict = dataclasses.field(default_factory=dict)  # type -> wider type; these are transcoded
    reread: dict = dataclasses.field(default_factory=dict)   # type -> type of as many bytes, of which the view calls it
    big_endian: bool = True
    fortran_order: bool = True
    padding: bool = True            # chunks that are longer than the array
    empty: bool = True              # dimensions of length 0
    scalars: bool = True


NARROW = {
    "bfloat16": "<f4", "float8_e4m3fn": "<f4", "float8_e5m2": "<f4", "float8_e3m4": "<f4", "float8_e4m3fnuz": "<f4",
    "float8_e4m3b11fnuz": "<f4", "float8_e8m0fnu": "<f4", "float4_e2m1fn": "<f4", "int4": "|i1", "int2": "|i1"}

PROFILES = {
    "v2": Profile(filters=FILTERS),
    "gdal": Profile(
        refused="raw", objects=False, texts=True, compressors=("gzip", "zlib", "zstd", "lz4", "lzma", "blosc"), widened=NARROW,
        reread={"M": "<i8", "m": "<i8"}, empty=False),
    "netcdf": Profile(
        refused="raw structured complex utf32 null_terminated", objects=False, compressors=(), widened={**NARROW, "float16": "<f4"},
        reread={"M": "<i8", "m": "<i8", "b": "|u1"}, big_endian=False, fortran_order=False, padding=False, empty=False,
        scalars=False),
    "java": Profile(
        refused="raw structured complex utf32 null_terminated uint64", objects=False, compressors=("zlib", "blosc"),
        widened={**NARROW, "float16": "<f4"}, reread={"M": "<i8", "m": "<i8", "b": "|u1"}, fortran_order=False, empty=False,
        scalars=False),
}


def why_transcoded(case: Generated, profile):
    """Why v2 cannot say the codecs of the chunks such that the view's readers understand; "" if it can."""
    axes = list(range(len(case.chunks)))
    compressor = checksum = filter_ = None
    for codec in case.inner_codecs:
        name = codec["name"].removeprefix("numcodecs.")
        if name == "transpose":
            if filter_:
                return f"{filter_} before transpose"
            axes = [axes[i] for i in codec["configuration"]["order"]]
        elif name == "bytes":
            if codec.get("configuration", {}).get("endian") == "big" and (filter_ or not profile.big_endian):
                return "big-endian elements"
        elif name in ("vlen-utf8", "vlen-bytes", "bitround"):
            pass
        elif name in profile.filters:
            if compressor or checksum:
                return f"{compressor or checksum} before {name}"
            filter_ = name
        elif codec["name"] in CHECKSUMS:
            checksum = name
        elif name in PROFILES["v2"].compressors:
            if compressor or checksum:
                return f"{compressor or checksum} before {name}"
            if name not in profile.compressors:
                return f"compressor {name}"
            compressor = name
        else:
            return f"codec {codec['name']}"
    axes = [axis for axis in axes if case.chunks[axis] > 1]
    if axes != sorted(axes):
        if axes != sorted(axes, reverse=True):
            return "transposed to neither C nor F order"
        if not profile.fortran_order:
            return "F order"
    return ""


def is_cut(case):
    return any(codec["name"] in CHECKSUMS for codec in case.inner_codecs)


def serving(view, case: Generated):
    """(one of serving.SERVINGS, reason)."""
    if view == "v3":
        return EXACT, ""
    profile, kind = PROFILES[view], case.kind
    if kind.name == "string" and profile.texts and (0 not in case.shape or profile.empty):
        moved = [codec["configuration"]["order"] for codec in case.inner_codecs if codec["name"] == "transpose"]
        is_in_order = all(list(order) == sorted(order) for order in moved)
        return (TRANSCODED, "text of a fixed length") if is_in_order else (NOT_SHOWN, "strings in an order other than C")
    if kind.is_text and not profile.objects or any(kind.name.startswith(name) for name in profile.refused.split()):
        return NOT_SHOWN, f"data type {kind.name}"
    if 0 in case.shape and not profile.empty:
        return NOT_SHOWN, "empty dimension"
    reason = why_transcoded(case, profile)
    if kind.name in profile.widened:
        reason = f"data type {kind.name}"
    elif not profile.padding and any(chunk > length for chunk, length in zip(case.chunks, case.shape)):
        reason = reason or "chunks longer than the array"
    if not reason and "numcodecs.fixedscaleoffset" in str(case.inner_codecs) and makes_fill_chunks(view, case):
        reason = "chunks of fill values that no codec encodes"
    if not reason:
        return (CUT, "checksum") if is_cut(case) else (EXACT, "")
    if kind.is_text:
        return NOT_SHOWN, reason
    return TRANSCODED, reason


def makes_fill_chunks(view, case):
    """Whether chunks that are not stored have files in `v2`: its fill_value is another one than the store's."""
    fill = v2_fill(case)
    return view == "v2" and fill != case.document["fill_value"] and repr(fill) != repr(float("nan"))


TENSORSTORE_TYPES = ["bool", "int", "uint", "float16", "float32", "float64", "complex"]


def why_unreadable(reader, case: Generated):
    """Why the reader cannot read what its view shows, from no store whatever; "" if it can."""
    kind = case.kind
    codecs = {codec["name"] for codec in case.inner_codecs}
    if reader == "tensorstore-v2":
        if kind.is_narrow or not any(kind.name.startswith(name) for name in TENSORSTORE_TYPES):
            return f"has no data type {kind.name} in v2"
        compressors = codecs & {"numcodecs.lz4", "numcodecs.lzma"}
        if serving("v2", case)[0] != TRANSCODED and compressors:
            return f"has no {compressors.pop()} in v2"
        if serving("v2", case)[0] != TRANSCODED and codecs & {f"numcodecs.{name}" for name in FILTERS}:
            return "has no filters in v2"
    elif reader == "tensorstore-v3":
        if not kind.is_narrow and not any(kind.name.startswith(name) for name in TENSORSTORE_TYPES):
            return f"has no data type {kind.name}"
        if any(name.startswith("numcodecs.") for name in codecs):
            return "has no codecs of numcodecs"
    elif reader == "zarr-python-3":
        if kind.is_narrow:
            return f"has no data type {kind.name}"
    elif reader == "debian-zarr-python-3":
        if kind.dtype.kind == "c" and v2_fill(case) is not None:
            return "takes a fill value [re, im] for two values"
        if str(v2_fill(case)) == "-0.0":
            return "takes a fill value of -0.0 for 0.0"
        if kind.name == "variable_length_bytes" and not case.shape:
            return "wraps bytes of rank 0 in a second array"
    elif reader == "gdal":
        if kind.name == "structured_text":
            return "hands out no text of a structure to Python"
    return ""


# What GDAL makes of a type, depending on its version.
GDAL_READS = {"|b1": ["|u1"], "|i1": ["<i2", "|i1"], "<f2": ["<f4", "<f2"]}


def as_shown(view, kind: Kind, values, stored=None):
    """The values in the type in which the view shows them. `stored`: those of a narrow type as the bytes that they are there."""
    profile = PROFILES.get(view, PROFILES["v2"])
    if view == "v3":
        return values
    if kind.name in profile.widened:
        values = values.astype(profile.widened[kind.name])
    elif kind.dtype.kind in profile.reread:
        values = values.view(profile.reread[kind.dtype.kind])
    elif kind.is_narrow:
        values = stored
    return values if values.ndim or profile.scalars else values.reshape(1)


def as_seen(reader, view, kind: Kind, values, stored=None):
    """All that the reader may rightly say of them."""
    values = as_shown(view, kind, values, stored)
    if reader == "gdal":
        if values.dtype.kind == "U":
            return [np.array(values.tolist(), object)]
        if values.dtype.kind == "S":
            return [np.array([item.decode() for item in values.ravel().tolist()], object).reshape(values.shape)]
        return [values.astype(dtype) for dtype in GDAL_READS.get(values.dtype.str, [values.dtype])]
    return [values]


CF_UNITS = {
    "D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def masked(view, case: Generated):
    """The value that is to be masked; None if there is none. Dates have one where they are shown as numbers."""
    if view != "v2" and case.kind.dtype.kind in "mM":
        return NOT_A_TIME
    said = case.document["attributes"].get("_FillValue")
    if isinstance(said, str) and said != "NaN":
        return struct.unpack("<d", base64.b64decode(said))[0]
    return said if said is None or case.kind.dtype.kind != "f" else float(said)


def v2_fill(case: Generated):
    """fill_value of .zarray in the view `v2`, of numbers."""
    if masked("v2", case) is not None:
        return masked("v2", case)
    fill = case.document["fill_value"]
    names = case.document.get("dimension_names")
    is_named = not case.shape or names is not None
    return None if is_named and fill != "NaN" else fill


def attributes_as_shown(view, case: Generated):
    """Without _ARRAY_DIMENSIONS, which netCDF-C does not show, and without _FillValue, for which there is masked()."""
    attributes = {name: value for name, value in case.document["attributes"].items() if name != "_FillValue"}
    kind = case.kind
    if view == "netcdf" and kind.name == "bool" and masked(view, case) is None:
        attributes["dtype"] = "bool"
    if view in ("gdal", "netcdf") and kind.dtype.kind in "mM" and "units" not in attributes:
        unit, scale = (kind.data_type["configuration"][key] for key in ("unit", "scale_factor"))
        if scale != 1:
            attributes["zarr_dtype"] = f"{kind.name.split('_')[0]}64[{scale}{unit}]"
        elif kind.dtype.kind == "M":
            attributes |= {"units": f"{CF_UNITS[unit]} since 1970-01-01", "calendar": "proleptic_gregorian"}
        else:
            attributes["units"] = CF_UNITS[unit]
    return attributes
