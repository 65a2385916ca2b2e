// Input: a snapshot file of an Icechunk repository. Lists every folder of the resulting store, and
// reads every document. The repository has no manifests.
#include <memory>
#include <string>

#include "tests/fuzz/fuzzing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/icechunk/stored_values.h"

namespace zarrfs {
namespace {

constexpr int kMaxDepth = 8;

void Visit(const Store& store, const std::string& folder, int depth) {
  const auto entries = store.List(folder);
  if (!entries) {
    Require(entries.error().code != ErrorCode::kNotFound, "a folder that is there", folder);
    return;
  }
  for (const ListEntry& entry : *entries) {
    const std::string key = JoinKey(folder, entry.name);
    Require(IsValidKey(key), "names that are keys", key);
    const auto info = store.Stat(key);
    if (!info) {
      Require(info.error().code != ErrorCode::kNotFound, "what is listed to be there", key);
      continue;
    }
    Require(info->is_folder == entry.is_folder, "the same kind", key);
    if (info->is_folder && depth < kMaxDepth) Visit(store, key, depth + 1);
    if (info->is_folder) continue;
    const auto whole = ReadWhole(store, key, 1u << 20);
    Require(whole && whole->bytes.size() == info->size(), "the promised size", key);
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zarrfs;  // NOLINT: of this function alone
  ProcessMemory().SetLimit(64u << 20);
  const std::string stored(Text(data, size));
  const auto file = DecodeIcechunkFile("x", stored, IcechunkFileType::kSnapshot);
  if (!file) return 0;
  const auto table = IcechunkTable<icechunk::Snapshot>(*file);
  if (!table) return 0;
  const IcechunkId id = IdOf(*(*table)->id());
  auto container = std::make_shared<FakeStore>();
  container->Put("snapshots/" + IcechunkIdText(id), stored);
  container->Put("refs/branch.main/ref.json",
                 fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(id)));
  const auto store = OpenIcechunkStore(container, {IcechunkAt::Kind::kSnapshot, std::string(), id});
  if (store) Visit(**store, "", 0);
  return 0;
}
