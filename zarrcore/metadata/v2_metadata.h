// Zarr v2 metadata (.zarray, .zgroup, .zattrs) as the v3 metadata that means the same. Pure: no
// I/O.
//
// Specification: Zarr v2, "Metadata". Chunks lie where v2 puts them (chunk key encoding "v2"), and
// the codec chain decodes them as they are. Beyond that, what a v2 reader and a v3 reader do
// differently without being told is made the same:
//   - xarray names dimensions by the attribute _ARRAY_DIMENSIONS: it becomes dimension_names.
//   - xarray takes a v2 fill value for missing values, but in v3 only an attribute _FillValue:
//   where
//     there is none, one is added, in xarray's own spelling (numbers only: it cannot read others).
// The fill value null, which leaves missing chunks undefined, becomes zero bytes
// (ArrayMetadata::undefined_fill tells).
#ifndef ZARRCORE_METADATA_V2_METADATA_H_
#define ZARRCORE_METADATA_V2_METADATA_H_

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// The text of a document, and the key that names it in errors.
struct NamedText {
  std::string_view key;
  std::string_view text;
};

/// `zattrs` is absent where there is no .zattrs. Members that v2 does not know are ignored, as its
/// specification says. The errors are those of ParseZarrJson(); kUnsupported also for what v2 can
/// say and v3, or this program, cannot (see ParseV2Dtype, ParseV2Codecs).
[[nodiscard]] Result<ArrayMetadata> ParseZarray(const NamedText& zarray,
                                                const std::optional<NamedText>& zattrs);

/// Of an array that ParseZarray() refuses, with `reason`: what its chunk files can be found by.
/// v2 readers know codecs and data types that this program does not, and are served the stored
/// files. Everything else that the metadata say is a placeholder: data_type is kOther, named like
/// the dtype; codecs are named "numcodecs.<id>". Fails if shape, chunks or dimension_separator are
/// not usable either.
[[nodiscard]] Result<ArrayMetadata> ParseZarrayGrid(const NamedText& zarray, const Error& reason);

[[nodiscard]] Result<GroupMetadata> ParseZgroup(const NamedText& zgroup,
                                                const std::optional<NamedText>& zattrs);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_V2_METADATA_H_
