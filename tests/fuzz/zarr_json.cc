// Input: the text of a zarr.json.
#include <string>
#include <variant>

#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/views.h"
#include "zarrcore/metadata/consolidated_member.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = zarrfs::Text(data, size);
  zarrfs::Require(zarrfs::MemoryToParse(text) > size, "memory for the text and its values");
  if (const auto json = zarrfs::ParseJson(text, "zarr.json")) {
    zarrfs::Require(zarrfs::MemoryToDump(*json) > zarrfs::DumpJson(*json).size(),
                    "memory for the text");
  }
  const auto node = zarrfs::ParseZarrJson(text, "zarr.json");
  std::string erased(text);
  zarrfs::EraseConsolidated(erased);
  const auto same = zarrfs::ParseZarrJson(erased, "zarr.json");
  zarrfs::Require(!node || same, "a document without consolidated metadata");
  if (const auto* group = node ? std::get_if<zarrfs::GroupMetadata>(&*node) : nullptr) {
    const auto* other = std::get_if<zarrfs::GroupMetadata>(&*same);
    zarrfs::Require(other != nullptr && other->document == group->document &&
                        other->attributes == group->attributes &&
                        other->consolidated_metadata == group->consolidated_metadata,
                    "the same group");
  }
  if (node) std::visit([](const auto& metadata) { zarrfs::ShowEverywhere(metadata); }, *node);
  return 0;
}
