// ObjectNaming: the names of one array's stored objects, as far as they are known.
//
// Old Zarr v2 metadata do not state the separator of chunk keys. Until an object is found, keys of
// both forms are tried, and a chunk is absent only if both are. The first object that is found
// decides. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Watches a folder of objects with these names. Names with a suffix are not Zarr's own.
[[nodiscard]] inline Validity WatchOf(const Store& store, std::string_view folder,
                                      const ChunkNaming& naming) {
  return naming.suffix.empty() ? Validity::Watch(store, folder)
                               : Validity::WatchAllNames(store, folder);
}

class ObjectNaming {
 public:
  explicit ObjectNaming(const ChunkKeyEncoding& encoding)
      : forms_{ChunkNaming::Of(encoding), ChunkNaming::Of(encoding)},
        decided_(encoding.is_undecided ? kUndecided : 0) {
    forms_[1].separator = forms_[0].separator == '.' ? '/' : '.';
  }

  [[nodiscard]] bool is_decided() const { return decided_ != kUndecided; }

  /// The decided form; until then, the form for messages. Valid as long as this object.
  [[nodiscard]] const ChunkNaming& current() const { return candidates().front(); }

  /// The forms to try: one, or both until one is decided.
  [[nodiscard]] std::span<const ChunkNaming> candidates() const {
    const size_t decided = decided_;
    return decided == kUndecided ? std::span(forms_) : std::span(forms_).subspan(decided, 1);
  }

  /// An object was found under `form`, one of the candidates. No effect once the form is decided.
  void Decide(const ChunkNaming& form) const {
    size_t expected = kUndecided;
    decided_.compare_exchange_strong(expected, form == forms_[0] ? 0 : 1);
  }

 private:
  static constexpr size_t kUndecided = 2;

  std::array<ChunkNaming, 2> forms_;
  mutable std::atomic<size_t> decided_;
};

}  // namespace zarrfs
