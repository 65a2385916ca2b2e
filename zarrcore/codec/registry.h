// The codecs that zarrfs supports: their names in zarr.json, and their formats.
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

/// Codec factories. A factory makes a codec from its configuration. Fails with kDamaged if the
/// configuration is invalid, and with kUnsupported if zarrfs does not support the configuration.
/// The ChunkSpec describes the chunks that the codec encodes.
using ArrayToArrayFactory = Result<ArrayToArrayPtr> (*)(const CodecSpec&, const ChunkSpec&);
using ArrayToBytesFactory = Result<ArrayToBytesPtr> (*)(const CodecSpec&, const ChunkSpec&);
using BytesToBytesFactory = Result<BytesToBytesPtr> (*)(const CodecSpec&);

/// The factory of a codec. The type of the factory determines where in a chain the codec may stand.
using CodecFactory = std::variant<ArrayToArrayFactory, ArrayToBytesFactory, BytesToBytesFactory>;

/// Returns the factory of the codec called `name`, or null if the name is unknown. The pointer
/// stays valid.
[[nodiscard]] const CodecFactory* FindCodec(std::string_view name);

// --- Array-to-array codecs ---

/// "transpose": permutes the axes of the chunk. Axis j of the encoded chunk is axis order[j] of the
/// decoded chunk; see TransposeOrder() in codec.h. Fails with kDamaged if "order" is not a
/// permutation of the chunk's axes.
[[nodiscard]] Result<ArrayToArrayPtr> MakeTransposeCodec(const CodecSpec&, const ChunkSpec&);

/// "numcodecs.delta": the first element, then the differences between neighbours in C order.
/// "dtype" is the type of the array; "astype" is the stored type, which defaults to "dtype". As in
/// numpy, sums are computed in a type that holds the values of both types, and integers wrap. Fails
/// with kUnsupported for types other than integers and floats.
[[nodiscard]] Result<ArrayToArrayPtr> MakeDeltaCodec(const CodecSpec&, const ChunkSpec&);

// Codecs that store elements in another data type (cast.cc). "numcodecs.astype" and
// "numcodecs.quantize" convert like numpy. quantize stores floats rounded to decimal digits, which
// decoding cannot undo. "cast_value" of zarr-extensions converts by its "rounding", "out_of_range"
// and "scalar_map". "bitround" and "numcodecs.bitround" round away low bits of the elements when
// they are written; decoding changes nothing, regardless of the configuration. Encoding with
// quantize or bitround fails with kUnsupported.
[[nodiscard]] Result<ArrayToArrayPtr> MakeAstypeCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeQuantizeCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeCastValueCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeBitroundCodec(const CodecSpec&, const ChunkSpec&);

// Codecs that decode to stored / scale + offset. "scale_offset" of zarr-extensions computes in the
// array's data type; integers wrap, and the quotient is rounded down. "numcodecs.fixedscaleoffset"
// reads elements of "astype", computes in float64, or in "astype" if that is a float, and converts
// to "dtype" like numpy. Encoding fails with kUnsupported.
[[nodiscard]] Result<ArrayToArrayPtr> MakeScaleOffsetCodec(const CodecSpec&, const ChunkSpec&);
[[nodiscard]] Result<ArrayToArrayPtr> MakeFixedScaleOffsetCodec(const CodecSpec&, const ChunkSpec&);

/// "numcodecs.packbits": stores booleans as uint8. The first byte is the number of padding bits.
/// The booleans follow, eight per byte, the first in the most significant bit. Fails with
/// kUnsupported for types other than bool.
[[nodiscard]] Result<ArrayToArrayPtr> MakeNumcodecsPackbitsCodec(const CodecSpec&,
                                                                 const ChunkSpec&);

// --- Array-to-bytes codecs ---

/// "bytes": the elements in C order, in the byte order "endian". The two floats of a complex
/// element are reversed separately, and so are the fields of a struct. Opaque bytes (r<N>) have no
/// byte order. "endian" may be missing for items of one byte. For wider items, only old writers
/// omit it, and the order is then little-endian. Fails with kUnsupported for types without a fixed
/// element size.
[[nodiscard]] Result<ArrayToBytesPtr> MakeBytesCodec(const CodecSpec&, const ChunkSpec&);

/// kMixedEndian: like "bytes" in little-endian order, except that some parts of a struct are
/// big-endian. "big" is the list of their byte ranges in an element. Occurs only in Zarr v2 arrays.
[[nodiscard]] Result<ArrayToBytesPtr> MakeMixedEndianCodec(const CodecSpec&, const ChunkSpec&);

/// "packbits" of zarr-extensions, which is unrelated to the codec of numcodecs. Stores the bits
/// "first_bit" to "last_bit" of each element, least significant first, padded with zero bits. With
/// "padding_encoding" first_byte or last_byte, a byte states the number of padding bits. In decoded
/// elements, bits that were not stored are zero, but signed integers are sign-extended. Fails with
/// kUnsupported for types other than bool, integers, floats, complex numbers and dates. Numbers of
/// fewer than 8 bits, such as int4, are supported.
[[nodiscard]] Result<ArrayToBytesPtr> MakePackbitsCodec(const CodecSpec&, const ChunkSpec&);

// The codecs below store zfp streams (https://zfp.readthedocs.io). Encoding fails with
// kUnsupported.
//
// "zfpy", "numcodecs.zfpy": a stream that begins with zfp's full header, which contains the type,
// the shape and the mode. Only writers use the configuration. Fails with kUnsupported for types
// other than int32, int64, float32 and float64.
[[nodiscard]] Result<ArrayToBytesPtr> MakeZfpyCodec(const CodecSpec&, const ChunkSpec&);
/// "zfp" (zarr-extensions, codecs/zfp): a stream without a header. The mode is in the
/// configuration; type and shape are those of the chunk. Supports the types of zfpy, dates,
/// durations, and integers of 8 and 16 bits, which zfp stores in the upper bits of 32-bit integers.
/// Fails with kUnsupported for more than four axes, and with kDamaged for an unknown mode or wrong
/// parameters.
[[nodiscard]] Result<ArrayToBytesPtr> MakeZfpCodec(const CodecSpec&, const ChunkSpec&);

/// "pcodec", "numcodecs.pcodec": a file in pcodec's standalone format
/// (https://github.com/pcodec/pcodec), which is self-describing. Only writers use the
/// configuration. Supports integers, floats of 16, 32 and 64 bits, dates and durations, in C order.
/// Fails with kUnsupported for other types, for encoding, and always if DecodesPcodec() is false.
[[nodiscard]] Result<ArrayToBytesPtr> MakePcodecCodec(const CodecSpec&, const ChunkSpec&);
/// True if this program was built with pcodec's library.
[[nodiscard]] bool DecodesPcodec();

// --- Bytes-to-bytes codecs ---

/// "blosc": a frame of c-blosc 1, which has a 16-byte header, block offsets, and compressed blocks.
/// Decoding uses only the header. The configuration is for encoding, and no configuration is
/// rejected (blosc.h). Bytes after the frame are ignored, as in other readers.
[[nodiscard]] Result<BytesToBytesPtr> MakeBloscCodec(const CodecSpec&);

/// "bz2": the format of bzip2(1). Several consecutive streams decode to their concatenation. Other
/// bytes after a stream are ignored, as in other readers. A missing end or a wrong checksum fails
/// with kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeBz2Codec(const CodecSpec&);

/// "gzip": RFC 1952. Several consecutive members decode to their concatenation, as in gzip(1).
/// Other bytes after a member, a missing end, or a wrong checksum fail with kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeGzipCodec(const CodecSpec&);

/// "zlib": one stream of RFC 1950. Bytes after the stream are ignored, as in other readers.
[[nodiscard]] Result<BytesToBytesPtr> MakeZlibCodec(const CodecSpec&);

/// "lz4": the decoded size as four little-endian bytes, followed by one LZ4 block. This is not the
/// frame format of lz4(1).
[[nodiscard]] Result<BytesToBytesPtr> MakeLz4Codec(const CodecSpec&);

/// "lzma": the four formats of Python's lzma module, with the options of that module. "format" is 0
/// (detect xz or lzma), 1 (xz, the default), 2 (lzma, the predecessor of xz) or 3 (raw, which has
/// no header, so decoding needs "filters"). "check" and "preset" are only for encoding. "filters"
/// is a list of {"id": n, option: n, …}. Several xz streams decode to their concatenation. Other
/// bytes after the end fail with kDamaged. Encodes only xz, with the default filters.
[[nodiscard]] Result<BytesToBytesPtr> MakeLzmaCodec(const CodecSpec&);

/// "zstd": RFC 8878. Decodes any number of frames and skippable frames. Encodes one frame with its
/// content size, which older readers require. Frames in formats older than RFC 8878, and frames
/// that need a dictionary, fail with kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeZstdCodec(const CodecSpec&);

/// "shuffle": the first bytes of all elements, then their second bytes, and so on. "elementsize" is
/// required, because readers disagree on its default (4, or the size of the data type); 0 and 1
/// change nothing. Data whose length is not a multiple of "elementsize" fail with kDamaged.
[[nodiscard]] Result<BytesToBytesPtr> MakeShuffleCodec(const CodecSpec&);

// Checksums of four little-endian bytes (checksum.cc). "crc32c" (Castagnoli, as in iSCSI) is at the
// end. "numcodecs.crc32" (as in zlib) and "numcodecs.adler32" are at the start unless "location" is
// "end". "numcodecs.crc32c" is at the end unless "location" is "start". "numcodecs.fletcher32" (as
// in HDF5, sixteen bits at a time, most significant byte first) and "numcodecs.jenkins_lookup3"
// (Bob Jenkins' hashlittle, seeded with "initval") are always at the end.
[[nodiscard]] Result<BytesToBytesPtr> MakeChecksumCodec(const CodecSpec&);

}  // namespace zarrfs
