// Converts Zarr v2 metadata (.zarray, .zgroup, .zattrs) to equivalent v3 metadata. Pure: no I/O.
//
// Specification: Zarr v2, "Metadata". Chunks keep their v2 names (chunk key encoding "v2"), and the
// codec chain decodes them unchanged. Where readers treat v2 and v3 differently, the metadata
// compensate:
//   - xarray reads the names of dimensions from _ARRAY_DIMENSIONS: they become dimension_names.
//   - xarray takes a v2 fill value for missing values, but in v3 only the attribute _FillValue: it
//     is added, in xarray's own spelling (for numbers only: xarray cannot read others).
// The fill value null, which leaves missing chunks undefined, becomes zero bytes with
// ArrayMetadata::undefined_fill.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// The text of a document, and its key for errors.
struct NamedText {
  std::string_view key;
  std::string_view text;
};

/// `zattrs` is absent if .zattrs does not exist. Ignores unknown members, as v2 requires. Fails
/// like ParseZarrJson(), and with kUnsupported for anything that v3, or this program, cannot
/// express (see ParseV2Dtype, ParseV2Codecs).
[[nodiscard]] Result<ArrayMetadata> ParseZarray(const NamedText& zarray,
                                                const std::optional<NamedText>& zattrs);

/// For an array that ParseZarray() refuses with `reason`: just enough metadata to find its chunk
/// files. v2 readers support codecs and data types that this program does not, and get the stored
/// files. Everything else is a placeholder: data_type is kOther, named like the dtype; codecs are
/// named "numcodecs.<id>". Fails if shape, chunks or dimension_separator are not usable either.
[[nodiscard]] Result<ArrayMetadata> ParseZarrayGrid(const NamedText& zarray, const Error& reason);

[[nodiscard]] Result<GroupMetadata> ParseZgroup(const NamedText& zgroup,
                                                const std::optional<NamedText>& zattrs);

}  // namespace zarrfs
