// Input: the text of a zarr.json.
#include <variant>

#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/views.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto node = zarrfs::ParseZarrJson(zarrfs::Text(data, size), "zarr.json");
  if (node) std::visit([](const auto& metadata) { zarrfs::ShowEverywhere(metadata); }, *node);
  return 0;
}
