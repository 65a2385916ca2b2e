// Input: a zip file. Lists every folder of it, and reads every member as a whole and by range.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzzing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

constexpr int kMaxDepth = 8;
constexpr uint64_t kMaxRead = 1u << 20;  // bytes of a member that are read here

class ZipWalk {
 public:
  explicit ZipWalk(const Store& store) : store_(store) {}

  void Visit(const std::string& folder, int depth) {
    const auto entries = store_.List(folder);
    RequireOk(entries, "a folder that is there to be listed");
    for (const ListEntry& entry : *entries) {
      const std::string key = JoinKey(folder, entry.name);
      Require(IsValidKey(key), "names that are keys", key);
      const auto info = store_.Stat(key);
      Require(info.has_value() || entry.is_refused, "what is listed to be there", key);
      if (!info) continue;
      Require(info->is_folder == entry.is_folder, "the same kind", key);
      if (!info->is_folder) Read(key, info->size());
      if (info->is_folder && depth < kMaxDepth) Visit(key, depth + 1);
    }
  }

 private:
  void Read(const std::string& key, uint64_t size) {
    std::string whole(static_cast<size_t>(std::min(size, kMaxRead)), '\0');
    std::string end(static_cast<size_t>(std::min<uint64_t>(size, 16)), '\0');
    const auto read =
        store_.Read(key, ByteRange::At(0, size), std::as_writable_bytes(std::span(whole)));
    const auto suffix =
        store_.Read(key, ByteRange::Suffix(end.size()), std::as_writable_bytes(std::span(end)));
    // (Only what is read as a whole is compared with its CRC.)
    Require(!read || suffix, "what is readable as a whole to be readable by range", key);
    if (!read) return;
    Require(read->length == whole.size() && suffix->length == end.size(), "the promised size", key);
    Require(suffix->offset == size - end.size(), "the end", key);
    if (size <= kMaxRead) Require(whole.ends_with(end), "the same bytes by range", key);
  }

  const Store& store_;
};

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ProcessMemory().SetLimit(64u << 20);
  auto container = std::make_shared<zarrfs::FakeStore>();
  container->Put("x.zip", zarrfs::Text(data, size));
  const auto store = zarrfs::OpenZipStore(container, "x.zip");
  if (store) zarrfs::ZipWalk(**store).Visit("", 0);
  return 0;
}
