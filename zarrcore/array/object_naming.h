// ObjectNaming: the naming scheme of one array's stored objects, which may be undecided at first.
// Thread-safe.
//
// Old Zarr v2 metadata do not state the separator of chunk keys. Until an object is found, each
// lookup tries both separators, and a chunk is absent only if neither key has an object. The first
// object found decides the separator.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Watches a folder for changes to objects named by `naming`. The store does not recognize names
/// with a suffix as Zarr's, so with a suffix all names in the folder are watched.
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

  /// Returns the decided naming. While the naming is undecided, returns one of the candidates,
  /// which suffices for messages. The reference is valid for the lifetime of this object.
  [[nodiscard]] const ChunkNaming& current() const { return candidates().front(); }

  /// The namings that a lookup must try: one if the naming is decided, otherwise two.
  [[nodiscard]] std::span<const ChunkNaming> candidates() const {
    const size_t decided = decided_;
    return decided == kUndecided ? std::span(forms_) : std::span(forms_).subspan(decided, 1);
  }

  /// Decides the naming, after an object was found under `form`, one of the candidates. Has no
  /// effect if the naming is decided already.
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
