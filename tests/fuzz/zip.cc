// Input: a zip file. Lists every folder, and reads every member as a whole and by range.
#include <memory>

#include "tests/fuzz/store_walk.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/zip/zip_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ProcessMemory().SetLimit(64u << 20);
  auto container = std::make_shared<zarrfs::FakeStore>();
  container->Put("x.zip", zarrfs::Text(data, size));
  const auto store = zarrfs::OpenZipStore(container, "x.zip");
  if (store) zarrfs::StoreWalk(**store).Visit("", 0);
  return 0;
}
