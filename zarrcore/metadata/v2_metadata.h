// Converts Zarr v2 metadata (.zarray, .zgroup, .zattrs) to equivalent v3 metadata. Does no I/O.
//
// See the Zarr v2 specification, "Metadata". Chunks keep their v2 names (chunk key encoding "v2"),
// and the codec chain decodes them unchanged. The result compensates for differences between v2 and
// v3 readers:
//   - xarray reads the names of dimensions from _ARRAY_DIMENSIONS. They become dimension_names.
//   - In v2, xarray masks the fill value. In v3, it masks the value of the attribute _FillValue, so
//     this attribute is added in xarray's spelling. Only numbers get it, because xarray reads it
//     for no other types.
// The fill value null leaves missing chunks undefined. It becomes zero bytes, and
// ArrayMetadata::undefined_fill is set.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// The contents of a document, and its key for error messages.
struct NamedText {
  std::string_view key;
  std::string_view text;
};

/// Converts a .zarray. `zattrs` is nullopt if .zattrs does not exist. Ignores unknown members, as
/// v2 requires. Returns the errors of ParseZarrJson(), and kUnsupported for anything that v3 or
/// this program cannot express; see ParseV2Dtype() and ParseV2Codecs().
[[nodiscard]] Result<ArrayMetadata> ParseZarray(const NamedText& zarray,
                                                const std::optional<NamedText>& zattrs);

/// Returns the metadata needed to find the chunk files of an array that ParseZarray() refuses with
/// `reason`. v2 readers may support codecs and data types that this program lacks, and can read the
/// stored files. All other members are placeholders: data_type is kOther with the name of the
/// dtype, and codecs are named "numcodecs.<id>". Also fails if shape, chunks or dimension_separator
/// are unusable.
[[nodiscard]] Result<ArrayMetadata> ParseZarrayGrid(const NamedText& zarray, const Error& reason);

[[nodiscard]] Result<GroupMetadata> ParseZgroup(const NamedText& zgroup,
                                                const std::optional<NamedText>& zattrs);

}  // namespace zarrfs
