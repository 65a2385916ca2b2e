// StoreWalk: lists every folder of a store made from fuzzed bytes, and reads every object as a
// whole and by range.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

inline constexpr int kMaxWalkDepth = 8;
inline constexpr uint64_t kMaxWalkRead = 1u << 20;  // maximum bytes that are read of an object

class StoreWalk {
 public:
  explicit StoreWalk(const Store& store) : store_(store) {}

  void Visit(const std::string& folder, int depth) {
    const auto entries = store_.List(folder);
    RequireOk(entries, "a folder that exists can be listed");
    std::set<std::string> names;
    for (const ListEntry& entry : *entries) {
      Require(names.insert(entry.name).second, "each name once", folder);
      const std::string key = JoinKey(folder, entry.name);
      Require(IsValidKey(key), "names that are keys", key);
      const auto info = store_.Stat(key);
      // A kerchunk reference to a whole file has no size until that file can be read.
      const bool is_absent = !info && info.error().code == ErrorCode::kNotFound;
      Require(!is_absent || entry.is_refused, "what is listed not to be absent", key);
      if (!info) continue;
      Require(info->is_folder == entry.is_folder, "the same kind", key);
      if (!info->is_folder) Read(key, info->size());
      if (info->is_folder && depth < kMaxWalkDepth) Visit(key, depth + 1);
    }
  }

 private:
  void Read(const std::string& key, uint64_t size) {
    std::string whole(static_cast<size_t>(std::min(size, kMaxWalkRead)), '\0');
    std::string end(static_cast<size_t>(std::min<uint64_t>(size, 16)), '\0');
    const auto read =
        store_.Read(key, ByteRange::At(0, size), std::as_writable_bytes(std::span(whole)));
    const auto suffix =
        store_.Read(key, ByteRange::Suffix(end.size()), std::as_writable_bytes(std::span(end)));
    // Only reads of a whole object verify its CRC, so a range may be readable although the whole
    // object is not.
    Require(!read || suffix, "what is readable as a whole to be readable by range", key);
    if (!read) return;
    Require(read->length == whole.size() && suffix->length == end.size(), "the promised size", key);
    Require(suffix->offset == size - end.size(), "the end", key);
    if (size <= kMaxWalkRead) Require(whole.ends_with(end), "the same bytes by range", key);
  }

  const Store& store_;
};

}  // namespace zarrfs
