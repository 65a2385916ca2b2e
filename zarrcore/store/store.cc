#include "zarrcore/store/store.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "zarrcore/base/hash.h"

namespace zarrfs {
namespace {

// The size in bytes of ReadWhole()'s first request. Nearly every metadata document fits; a longer
// document needs a second request.
constexpr uint64_t kFirstReadBytes = 64u << 10;

// Maximum attempts to read an object that is replaced during the read.
constexpr int kWholeReadTries = 3;

// Number of names that List() requests at a time.
constexpr size_t kListedAtOnce = 4096;

Result<WholeObject> ReadWholeOnce(const Store& store, std::string_view key, uint64_t limit,
                                  const MakeRoom& make_room) {
  WholeObject whole;
  whole.bytes.resize(static_cast<size_t>(std::min(kFirstReadBytes, limit)));
  Result<ReadAnswer> first = store.Read(key, ByteRange::At(0, whole.bytes.size()),
                                        std::as_writable_bytes(std::span(whole.bytes)));
  if (!first) return Fail(first);
  const uint64_t size = first->object->info().size();
  if (size > limit) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", key, limit, size);
  }
  if (make_room && size > whole.bytes.size()) {
    if (auto made = make_room(size); !made) return Fail(made);
  }
  const size_t have = std::min<size_t>(first->length, static_cast<size_t>(size));
  whole.bytes.resize(static_cast<size_t>(size));
  if (have < size) {
    const Result<void> rest =
        first->object->Read(have, std::as_writable_bytes(std::span(whole.bytes)).subspan(have));
    if (!rest) return Fail(rest);
  }
  whole.object = std::move(first->object);
  whole.step = first->step;
  return whole;
}

}  // namespace

uint64_t Version::Fingerprint() const {
  uint64_t hash = HashFields(device, inode, size, mtime_ns, ctime_ns);
  if (mode_mask != 0777) hash = HashCombine(hash, mode_mask);
  hash = HashCombine(hash, etag.size());
  for (size_t at = 0; at < etag.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, etag.data() + at, std::min(sizeof word, etag.size() - at));
    hash = HashCombine(hash, word);
  }
  return hash == 0 ? 1 : hash;
}

Result<std::vector<ListEntry>> Store::List(std::string_view folder) const {
  auto stream = OpenFolder(folder);
  if (!stream) return Fail(stream);
  std::vector<ListEntry> entries;
  for (;;) {
    auto next = (*stream)->Next(kListedAtOnce);
    if (!next) return Fail(next);
    if (next->empty()) return entries;
    std::ranges::move(*next, std::back_inserter(entries));
  }
}

Result<WholeObject> ReadWhole(const Store& store, std::string_view key, uint64_t limit,
                              const MakeRoom& make_room) {
  Result<WholeObject> whole = ReadWholeOnce(store, key, limit, make_room);
  for (int tries = 1; !whole && whole.error().code == ErrorCode::kStale && tries < kWholeReadTries;
       ++tries) {
    whole = ReadWholeOnce(store, key, limit, make_room);
  }
  return whole;
}

std::string JoinKey(std::string_view folder, std::string_view name) {
  std::string key;
  key.reserve(folder.size() + 1 + name.size());
  key = folder;
  if (!folder.empty()) key += '/';
  key += name;
  return key;
}

bool IsValidKey(std::string_view key) {
  if (key.empty()) return true;
  if (key.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const size_t slash = key.find('/');
    const std::string_view component = key.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == std::string_view::npos) return true;
    key.remove_prefix(slash + 1);
  }
}

}  // namespace zarrfs
