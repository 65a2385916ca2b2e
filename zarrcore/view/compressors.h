// The compressors of Zarr v2, named by the "id" that .zarray has in its member "compressor".
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>

namespace zarrfs {

inline constexpr std::array<std::string_view, 7> kCompressors = {"gzip", "zlib", "zstd", "bz2",
                                                                 "lz4",  "lzma", "blosc"};

/// A set of compressors. Bit n stands for kCompressors[n].
using CompressorSet = std::bitset<kCompressors.size()>;
inline constexpr CompressorSet kAllCompressors = (1U << kCompressors.size()) - 1;

[[nodiscard]] inline bool Has(const CompressorSet& set, std::string_view id) {
  const auto* const found = std::ranges::find(kCompressors, id);
  return found != kCompressors.end() && set[static_cast<size_t>(found - kCompressors.begin())];
}

/// Parses ids separated by colons, such as "zlib:blosc", or "none". nullopt if an id is unknown.
[[nodiscard]] std::optional<CompressorSet> ParseCompressors(std::string_view ids);
/// Returns the ids of the compressors in `set` in the form that ParseCompressors() parses.
[[nodiscard]] std::string CompressorNames(const CompressorSet& set);

}  // namespace zarrfs
