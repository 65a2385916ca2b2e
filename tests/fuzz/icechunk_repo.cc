// Input: the object `repo` of an Icechunk repository of version 2. Looks up every branch and tag.
#include <memory>
#include <string>

#include "tests/fuzz/fuzzing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_containers.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxNames = 20;

void Visit(const Store& container) {
  if (const auto config = ReadIcechunkConfig(container)) (void)ParseIcechunkConfig(*config);
  const auto names = ListIcechunkNames(container);
  if (!names) return;
  for (size_t i = 0; i < names->size() && i < kMaxNames; ++i) {
    const auto at = ParseIcechunkAt((*names)[i]);
    if (!at) continue;
    Require(at->Text() == (*names)[i], "the same name", at->Text());
    const auto pointer = FindIcechunkPointer(container, *at);
    Require(pointer || pointer.error().code == ErrorCode::kDamaged, "a name that is listed");
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ProcessMemory().SetLimit(64u << 20);
  zarrfs::FakeStore container;
  container.Put("repo", zarrfs::Text(data, size));
  zarrfs::Visit(container);
  return 0;
}
