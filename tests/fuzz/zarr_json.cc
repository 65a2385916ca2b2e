// Input: the text of a zarr.json.
#include <variant>

#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/views.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = zarrfs::Text(data, size);
  zarrfs::Require(zarrfs::MemoryToParse(text) > size, "memory for the text and its values");
  if (const auto json = zarrfs::ParseJson(text, "zarr.json")) {
    zarrfs::Require(zarrfs::MemoryToDump(*json) > zarrfs::DumpJson(*json).size(),
                    "memory for the text");
  }
  const auto node = zarrfs::ParseZarrJson(text, "zarr.json");
  if (node) std::visit([](const auto& metadata) { zarrfs::ShowEverywhere(metadata); }, *node);
  return 0;
}
