// The codecs of this program: their names in zarr.json, and what each one reads.
#pragma once

#include <memory>
#include <string_view>
#include <variant>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

using ArrayToArrayPtr = std::shared_ptr<const ArrayToArrayCodec>;
using ArrayToBytesPtr = std::shared_ptr<const ArrayToBytesCodec>;
using BytesToBytesPtr = std::shared_ptr<const BytesToBytesCodec>;

/// Makes a codec from its configuration: kDamaged if that is wrong, kUnsupported if this program
/// cannot decode it. The ChunkSpec is the codec's input.
using ArrayToArrayFactory = Result<ArrayToArrayPtr> (*)(const CodecSpec&, const ChunkSpec&);
using ArrayToBytesFactory = Result<ArrayToBytesPtr> (*)(const CodecSpec&, const ChunkSpec&);
using BytesToBytesFactory = Result<BytesToBytesPtr> (*)(const CodecSpec&);

/// The alternative determines where in a chain the codec may be.
using CodecFactory = std::variant<ArrayToArrayFactory, ArrayToBytesFactory, BytesToBytesFactory>;

/// Null for an unknown name. The pointer stays valid.
[[nodiscard]] const CodecFactory* FindCodec(std::string_view name);

// --- From elements to elements ---

/// "transpose": permutes the axes of the chunk. Axis j of the encoded chunk is axis order[j] of the
/// decoded one (TransposeOrder in codec.h). kDamaged if "order" is not a permutation of the axes of
/// the chunk.
[[nodiscard]] Result<ArrayToArrayPtr> MakeTransposeCodec(const CodecSpec&, const ChunkSpec&);

/// "numcodecs.delta": the first element, then the differences between neighbours in C order.
/// "dtype" is the type of the array, "astype" (by default the same) the stored one. As in numpy,
/// sums are computed in a type that holds both, and integers wrap. Integers and floats;
/// kUnsupported for others.
[[nodiscard]] Result<ArrayToArrayPtr> MakeDeltaCodec(const CodecSpec&, const ChunkSpec&);

// Another data type (cast.cc): "numcodecs.astype" and "numcodecs.quantize" (floats rounded to
// decimal digits, which decoding cannot undo) convert as numpy does, "cast_value" of
// zarr-extensions by its "rounding", "out_of_range" and "scalar_map". "bitround",
// "numcodecs.bitround": elements whose low bits were rounded away when they were written; decoding
// changes nothing, regardless of the configuration. Encoding of quantize and bitround is
// kUnsupported.
[[nodiscard]] Result<ArrayToArrayPtr> MakeAstypeCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeQuantizeCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeCastValueCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeBitroundCodec(const CodecSpec&, const ChunkSpec&);

// stored / scale + offset. "scale_offset" of zarr-extensions calculates in the array's data type
// (integers: wrapping, and the quotient rounded down). "numcodecs.fixedscaleoffset" reads elements
// of "astype", calculates in float64, or in "astype" if that is a float, and converts to "dtype" as
// numpy does. Encoding is kUnsupported.
[[nodiscard]] Result<ArrayToArrayPtr> MakeScaleOffsetCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeFixedScaleOffsetCodec(const CodecSpec&, const ChunkSpec&);

/// "numcodecs.packbits": to uint8: a byte with the number of padding bits, then booleans, eight per
/// byte, the first in the most significant bit. kUnsupported for types other than bool.
[[nodiscard]] Result<ArrayToArrayPtr> MakeNumcodecsPackbitsCodec(const CodecSpec&,
                                                                 const ChunkSpec&);

// --- From elements to bytes ---

/// "bytes": the elements in C order, in a given byte order. The two floats of a complex element are
/// swapped separately, and so are the fields of a struct; opaque bytes (r<N>) have no byte order.
/// "endian" may be missing for items of one byte; for wider ones, where only old writers omit it,
/// it means little. kUnsupported for types without a fixed element size.
[[nodiscard]] Result<ArrayToBytesPtr> MakeBytesCodec(const CodecSpec&, const ChunkSpec&);

/// kMixedEndian: as "bytes", little-endian except for the parts of a struct in `big`, byte ranges
/// of an element. Only in arrays of Zarr v2.
[[nodiscard]] Result<ArrayToBytesPtr> MakeMixedEndianCodec(const CodecSpec&, const ChunkSpec&);

/// "packbits" of zarr-extensions, which shares only the name with numcodecs': the bits "first_bit"
/// to "last_bit" of each element, least significant first, padded with zero bits;
/// "padding_encoding" first_byte or last_byte adds a byte with the number of padding bits. Missing
/// bits are zero, or the sign of a signed integer. kUnsupported for raw and extension types.
[[nodiscard]] Result<ArrayToBytesPtr> MakePackbitsCodec(const CodecSpec&, const ChunkSpec&);

// zfp streams (https://zfp.readthedocs.io). Encoding is kUnsupported.
/// "zfpy", "numcodecs.zfpy": begins with zfp's full header, which has the type, the shape and the
/// mode; the configuration is for writers. kUnsupported for types other than int32, int64, float32
/// and float64.
[[nodiscard]] Result<ArrayToBytesPtr> MakeZfpyCodec(const CodecSpec&, const ChunkSpec&);
/// "zfp" (zarr-extensions, codecs/zfp): no header; the mode comes from the configuration, type and
/// shape from the chunk. The same types, dates and durations, and integers of 8 and 16 bits, stored
/// in the upper bits of zfp's 32. kUnsupported beyond four axes. kDamaged for an unknown mode or
/// wrong parameters.
[[nodiscard]] Result<ArrayToBytesPtr> MakeZfpCodec(const CodecSpec&, const ChunkSpec&);

/// "pcodec", "numcodecs.pcodec": a file in pcodec's standalone format
/// (https://github.com/pcodec/pcodec), which is self-describing; the configuration is for writers.
/// Integers, floats of 16, 32 and 64 bits, dates and durations, in C order; kUnsupported for
/// others, and for all if DecodesPcodec() is false. Encoding is kUnsupported.
[[nodiscard]] Result<ArrayToBytesPtr> MakePcodecCodec(const CodecSpec&, const ChunkSpec&);
/// Whether this program was built with pcodec's library.
[[nodiscard]] bool DecodesPcodec();

// --- From bytes to bytes ---

/// "blosc": the frame of c-blosc 1: a 16-byte header, block offsets, compressed blocks. Decoding
/// needs only the header; the configuration, which is never rejected, is only for encoding
/// (blosc.h). Bytes after the frame are ignored, as by every reader.
[[nodiscard]] Result<BytesToBytesPtr> MakeBloscCodec(const CodecSpec&);

/// "bz2": the format of bzip2(1). Several streams in a row decode to their concatenation; other
/// bytes after a stream are ignored, as by every reader. A missing end or a wrong checksum is
/// kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeBz2Codec(const CodecSpec&);

/// "gzip": RFC 1952. Several members in a row decode to their concatenation, as in gzip(1).
/// Anything else after a member, a missing end or a wrong checksum is kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeGzipCodec(const CodecSpec&);

/// "zlib": one stream of RFC 1950. Bytes after it are ignored, as by every reader.
[[nodiscard]] Result<BytesToBytesPtr> MakeZlibCodec(const CodecSpec&);

/// "lz4": the decoded size, four bytes, little-endian, and one LZ4 block. Not the frame format of
/// lz4(1).
[[nodiscard]] Result<BytesToBytesPtr> MakeLz4Codec(const CodecSpec&);

/// "lzma": the four formats of Python's module lzma, with its configuration: "format" 0 (detect xz
/// or lzma), 1 (xz, the default), 2 (lzma, the predecessor of xz) or 3 (raw: no header, so decoding
/// needs "filters"); "check" and "preset" are only for encoding. "filters" is a list of {"id": n,
/// option: n, …}. Several xz streams decode to their concatenation; anything else after the end is
/// kDamaged. Encodes only xz, with its default filters.
[[nodiscard]] Result<BytesToBytesPtr> MakeLzmaCodec(const CodecSpec&);

/// "zstd": RFC 8878. Decodes any number of frames and skippable frames. Encodes one frame with its
/// content size, which older readers require. Frames in formats before RFC 8878 and frames that
/// need a dictionary are kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeZstdCodec(const CodecSpec&);

/// "shuffle": the first bytes of all elements, then the second ones, and so on. "elementsize" is
/// required: readers disagree on the default (4, or the size of the data type). 0 and 1 change
/// nothing. A length that is not a multiple of it is kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeShuffleCodec(const CodecSpec&);

// Checksums of four bytes, little-endian (checksum.cc). "crc32c" (Castagnoli, as in iSCSI) is at
// the end. "numcodecs.crc32" (as in zlib) and "numcodecs.adler32" are at the start unless
// "location" is "end"; "numcodecs.crc32c" is at the end unless that is "start";
// "numcodecs.fletcher32" (as in HDF5, sixteen bits at a time, most significant byte first) and
// "numcodecs.jenkins_lookup3" (Bob Jenkins' hashlittle, seeded with "initval") are always at the
// end.
[[nodiscard]] Result<BytesToBytesPtr> MakeChecksumCodec(const CodecSpec&);

}  // namespace zarrfs
