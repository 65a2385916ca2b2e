// Input: a kerchunk reference set. Lists every folder of the set, and reads every object.
// References to other files cannot be read.
#include <memory>

#include "tests/fuzz/store_walk.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/kerchunk/kerchunk_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ProcessMemory().SetLimit(64u << 20);
  auto container = std::make_shared<zarrfs::FakeStore>();
  container->Put("x.json", zarrfs::Text(data, size));
  const auto store = zarrfs::OpenKerchunkStore(container, "x.json");
  if (!store) return 0;
  (void)zarrfs::KerchunkVirtualFoldersOf(**store);
  zarrfs::StoreWalk(**store).Visit("", 0);
  return 0;
}
