// Input: a manifest file of an Icechunk repository. Finds every reference again by its coordinates.
#include <algorithm>
#include <string>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/icechunk/manifest.h"
#include "zarrcore/icechunk/stored_values.h"

namespace zarrfs {
namespace {

void Check(const IcechunkManifest& manifest, const IcechunkManifest::Rows& rows) {
  Require(rows.first + rows.count <= manifest.size(), "rows of the manifest");
  for (size_t row = 0; row < rows.count; ++row) {
    Require(rows.LowerBound(rows.At(row)) == row, "the row of its coordinates");
    Require(rows.BeginsWith(row, rows.At(row)), "these coordinates");
    const IcechunkReference reference = manifest.At(rows.first + row);
    const bool is_inline = reference.kind == IcechunkReference::Kind::kInline;
    Require(!is_inline || reference.length == reference.bytes.size(), "the length of its bytes");
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zarrfs;  // NOLINT: of this function alone
  ProcessMemory().SetLimit(64u << 20);
  const std::string stored(Text(data, size));
  auto file = DecodeIcechunkFile("x", stored, IcechunkFileType::kManifest);
  if (!file) return 0;
  const auto table = IcechunkTable<icechunk::Manifest>(*file);
  if (!table) return 0;
  const auto again = DecodeIcechunkFile("x", stored, IcechunkFileType::kManifest);
  const auto manifest = IcechunkManifest::Parse(*std::move(file), IdOf(*(*table)->id()));
  if (!manifest || !again) return 0;
  const auto& arrays = *flatbuffers::GetRoot<icechunk::Manifest>(again->content.data())->arrays();
  for (const icechunk::ArrayReferences* array : arrays) {
    const auto rows = (*manifest)->Find(NodeIdOf(*array->node()));
    Require(rows.count == array->references()->size(), "all references of the array");
    Check(**manifest, rows);
  }
  return 0;
}
