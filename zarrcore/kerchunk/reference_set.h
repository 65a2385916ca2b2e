// KerchunkReferenceSet: the references of a kerchunk set in packed form. A reference says where the
// object of a key is stored. A key takes about 15 bytes, instead of 60 to 150 in the JSON file.
//
//   records     one per key, sorted by the bytes of the keys, in blocks of kBlock. A record begins
//               with the length of the prefix that its key shares with the previous key of the
//               block, and the rest of the key.
//   locations   the position of each distinct address in `bytes`. An address may contain templates:
//               "{{u}}/2020.nc"
//   bytes       addresses, and decoded inline objects
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// The command that rewrites a set in a form that zarrfs can read. It needs fsspec, with Jinja for
/// templates and fastparquet for a set in Parquet.
inline constexpr std::string_view kExpandReferenceSet =
    "python3 -c 'import base64, json, sys; from fsspec.implementations.reference import "
    "ReferenceFileSystem as F; r = F(sys.argv[1], simple_templates=False, "
    "remote_protocol=\"file\").references; json.dump({k: v if isinstance(v, str) else "
    "\"base64:\" + base64.b64encode(v).decode() if isinstance(v, bytes) else [v[0], "
    "*map(int, v[1:])] for k in r for v in [r[k]]}, sys.stdout)' SET > EXPANDED.json";

/// The location of the object of one key. The string views point into the set.
struct KerchunkReference {
  enum class Kind : uint8_t {
    kInline,  // `bytes`
    kRange,   // `length` bytes at `offset` of the object at `location`
    kWhole,   // the whole object at `location`
  };
  Kind kind = Kind::kInline;
  std::string_view bytes = {};
  std::string_view location = {};  // may contain templates; see LocationOf()
  uint64_t offset = 0;
  uint64_t length = 0;  // for kInline, the size of `bytes`; for kWhole, 0

  bool operator==(const KerchunkReference&) const = default;
};

/// A parsed reference set. Immutable, except for its freshness.
class KerchunkReferenceSet {
 public:
  class Builder;

  /// Reads the JSON file `key`, version 0 or 1 of the format, a piece at a time. kDamaged if it is
  /// not a reference set, kUnsupported if it needs to be expanded first (`gen`, templates with
  /// arguments), kTooLarge if it does not fit into the memory budget.
  [[nodiscard]] static Result<std::shared_ptr<const KerchunkReferenceSet>> Read(
      const Store& container, std::string_view key);

  /// A position in the sequence of keys. Must not outlive the set.
  class Cursor {
   public:
    /// True unless the cursor is after the last key.
    explicit operator bool() const { return number_ < set_->count_; }
    [[nodiscard]] const std::string& key() const { return key_; }
    [[nodiscard]] KerchunkReference reference() const;
    void Next();

   private:
    friend KerchunkReferenceSet;
    Cursor(const KerchunkReferenceSet& set, size_t block);
    void Decode();

    const KerchunkReferenceSet* set_;
    size_t number_;     // the index of the key
    size_t at_;         // the offset of the record in set_->records_
    size_t value_ = 0;  // the offset of the value, which follows the key in the record
    std::string key_;
  };
  /// A cursor at the first key that is not before `key`, in the order of bytes.
  [[nodiscard]] Cursor LowerBound(std::string_view key) const;
  /// The reference of `key`; nullopt if the set has none.
  [[nodiscard]] std::optional<KerchunkReference> Find(std::string_view key) const;
  [[nodiscard]] size_t size() const { return count_; }

  /// The address of a reference, with its templates expanded. kIo if the address is longer than any
  /// valid address.
  [[nodiscard]] Result<std::string> LocationOf(const KerchunkReference& reference) const;

  std::shared_ptr<const Object> object;  // the JSON file
  mutable Freshness freshness;           // set by RevalidatingCache

 private:
  static constexpr size_t kBlock = 16;  // keys per block

  struct Part {
    uint64_t begin;
    uint64_t length;
  };
  [[nodiscard]] std::string_view FirstKey(size_t block) const;
  [[nodiscard]] std::string_view BytesOf(const Part& part) const;

  MemoryBudget::Share memory_;
  size_t count_ = 0;
  std::string records_;
  std::vector<uint64_t> blocks_;  // the offset of each block in records_
  std::vector<Part> locations_;   // positions of addresses in bytes_
  std::string bytes_;
  std::vector<std::pair<std::string, std::string>> templates_;  // names and values, sorted
};

/// Collects references in any order. If a key occurs more than once, the last reference counts, as
/// in Python's dict.
class KerchunkReferenceSet::Builder {
 public:
  Builder() = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // The Add functions fail with kDamaged if `key` is not a valid key, or the range ends beyond
  // 2^63.
  [[nodiscard]] Result<void> AddInline(std::string_view key, std::string_view bytes);
  [[nodiscard]] Result<void> AddWhole(std::string_view key, std::string_view location);
  [[nodiscard]] Result<void> AddRange(std::string_view key, std::string_view location,
                                      uint64_t offset, uint64_t length);
  void AddTemplate(std::string name, std::string value);

  /// The memory, in bytes, that the references added so far need, including the peak while they are
  /// added and packed.
  [[nodiscard]] uint64_t bytes() const;

  /// Packs the references into a set. Its member `object` stays null. kDamaged if a location names
  /// a template that does not exist; kUnsupported if a template has arguments.
  [[nodiscard]] Result<std::shared_ptr<KerchunkReferenceSet>> Finish(MemoryBudget::Share memory) &&;

 private:
  [[nodiscard]] Result<void> Add(std::string_view key, KerchunkReference::Kind kind,
                                 std::span<const uint64_t> numbers);
  uint64_t NumberOf(std::string_view location);
  [[nodiscard]] std::string_view LocationAt(uint64_t number) const;

  // Orders indices of locations by the locations themselves.
  struct Less {
    using is_transparent = void;
    const Builder* builder;
    bool operator()(uint64_t a, uint64_t b) const {
      return builder->LocationAt(a) < builder->LocationAt(b);
    }
    bool operator()(std::string_view location, uint64_t number) const {
      return location < builder->LocationAt(number);
    }
    bool operator()(uint64_t number, std::string_view location) const {
      return builder->LocationAt(number) < location;
    }
  };

  // Records in the order in which they were added. Each has the key's length, the key, the kind,
  // and the numbers.
  std::string records_;
  std::vector<uint64_t> positions_;  // the offset of each record in records_
  std::string bytes_;
  std::vector<Part> locations_;
  std::set<uint64_t, Less> numbers_{
      Less{this}};       // not a hash table, because a hostile set could make keys collide
  uint64_t latest_ = 0;  // the number of the location used last
  std::vector<std::pair<std::string, std::string>> templates_;
  uint64_t template_bytes_ = 0;
};

}  // namespace zarrfs
