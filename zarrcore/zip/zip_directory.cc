#include "zarrcore/zip/zip_directory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;     // 4.3.7
constexpr uint32_t kRecordSignature = 0x02014b50;    // 4.3.12
constexpr uint32_t kZip64EndSignature = 0x06064b50;  // 4.3.14
constexpr uint32_t kLocatorSignature = 0x07064b50;   // 4.3.15
constexpr uint32_t kEndSignature = 0x06054b50;       // 4.3.16

constexpr size_t kRecord = 46, kZip64End = 56, kLocator = 20, kEnd = 22;
constexpr uint16_t kNone16 = 0xFFFF;
constexpr uint32_t kNone32 = 0xFFFFFFFF;  // means that the value is in the zip64 field
constexpr uint16_t kZip64Field = 0x0001;  // 4.5.3

using View = std::span<const std::byte>;

uint16_t Get16(View from, size_t at) { return LoadLittle<uint16_t>(&from[at]); }
uint32_t Get32(View from, size_t at) { return LoadLittle<uint32_t>(&from[at]); }
uint64_t Get64(View from, size_t at) { return LoadLittle<uint64_t>(&from[at]); }

// Replaces each of `values` that did not fit into 32 bits with a number from the zip64 field, which
// has these numbers in the same order. False if the field lacks a number.
bool TakeZip64(View extra, std::span<uint64_t* const> values) {
  while (extra.size() >= 4) {
    const uint16_t id = Get16(extra, 0);
    const size_t length = Get16(extra, 2);
    if (length > extra.size() - 4) return false;
    View field = extra.subspan(4, length);
    extra = extra.subspan(4 + length);
    if (id != kZip64Field) continue;
    for (uint64_t* const value : values) {
      if (*value != kNone32) continue;
      if (field.size() < sizeof(uint64_t)) return false;
      *value = Get64(field, 0);
      field = field.subspan(sizeof(uint64_t));
    }
    return true;
  }
  return false;
}

// A member's record in the central directory, and the record's length in bytes.
struct Record {
  ZipMember member;
  size_t length = 0;
};
std::optional<Record> ParseRecord(std::string_view bytes) {
  const View view = std::as_bytes(std::span(bytes));
  if (view.size() < kRecord || Get32(view, 0) != kRecordSignature) return std::nullopt;
  const size_t name = Get16(view, 28), extra = Get16(view, 30), comment = Get16(view, 32);
  Record record;
  record.length = kRecord + name + extra + comment;
  if (record.length > view.size()) return std::nullopt;

  ZipMember& member = record.member;
  member.name = bytes.substr(kRecord, name);
  member.is_folder = member.name.ends_with('/');
  if (member.is_folder) member.name.remove_suffix(1);
  constexpr uint16_t kEncrypted = 1U | 1U << 6;
  constexpr uint16_t kAes = 99;
  member.method = Get16(view, 10);
  member.is_encrypted = (Get16(view, 8) & kEncrypted) != 0 || member.method == kAes;
  constexpr unsigned kUnix = 3, kTypeBits = 0170000, kLink = 0120000;
  member.is_link =
      std::to_integer<unsigned>(view[5]) == kUnix && (Get32(view, 38) >> 16 & kTypeBits) == kLink;
  member.crc = Get32(view, 16);
  member.packed_size = Get32(view, 20);
  member.size = Get32(view, 24);
  member.header = Get32(view, 42);
  uint64_t* const values[] = {&member.size, &member.packed_size, &member.header};
  if (std::ranges::any_of(values, [](const uint64_t* value) { return *value == kNone32; }) &&
      !TakeZip64(view.subspan(kRecord + name, extra), values)) {
    return std::nullopt;
  }
  return record;
}

std::string_view SortedNameOf(std::string_view record) {
  const size_t length = Get16(std::as_bytes(std::span(record)), 28);
  return record.substr(kRecord, length);
}

// True if the system that made the record uses `\` to separate path components: FAT, NTFS, VFAT
// (4.4.2).
bool IsMadeByWindows(std::string_view record) {
  const auto system = static_cast<unsigned char>(record[5]);
  return system == 0 || system == 10 || system == 11 || system == 14;
}

// Returns `name` without leading "./".
std::string_view WithoutDots(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

// True if members use `\` instead of "/", as PowerShell 5 writes them: some members made on Windows
// have a `\`, and no member has a "/". If members have both, the meaning of `\` is ambiguous, which
// is an error.
Result<bool> HasBackslashes(std::string_view bytes) {
  std::optional<std::string_view> with_backslash;
  bool has_slash = false;
  while (const auto record = ParseRecord(bytes)) {
    const std::string_view name = SortedNameOf(bytes);
    has_slash = has_slash || WithoutDots(name).find('/') != name.npos;
    const bool is_one = IsMadeByWindows(bytes) && name.find('\\') != name.npos;
    if (is_one && !with_backslash) with_backslash = name;
    bytes.remove_prefix(record->length);
  }
  if (with_backslash && has_slash) {
    return Fail(
        ErrorCode::kDamaged,
        "a member of the zip file was made by Windows and has backslashes in its name, others "
        "have slashes: '{}'",
        Visible(*with_backslash));
  }
  return with_backslash.has_value();
}

// Converts the names in a directory to keys, in place: removes leading "./", and replaces `\` by
// "/" if HasBackslashes(). Removes members whose name is then empty ("./").
Result<void> SpellAsKeys(std::string& bytes, uint64_t& members) {
  if (bytes.find("./") == bytes.npos && bytes.find('\\') == bytes.npos) return {};
  const auto has_backslashes = HasBackslashes(bytes);
  if (!has_backslashes) return Fail(has_backslashes);
  size_t to = 0;
  for (size_t from = 0; from < bytes.size();) {
    const std::string_view rest = std::string_view(bytes).substr(from);
    const auto record = ParseRecord(rest);
    // Invalid bytes stay unchanged.
    const size_t length = record ? record->length : rest.size();
    std::string copy(rest.substr(0, length));
    from += length;
    if (record) {
      const std::string_view stored = SortedNameOf(rest);
      std::string name(WithoutDots(stored));
      if (name.empty() && members > 0 && !stored.empty()) {
        --members;
        continue;
      }
      if (*has_backslashes && IsMadeByWindows(rest)) std::ranges::replace(name, '\\', '/');
      copy.replace(kRecord, stored.size(), name);
      StoreLittle(reinterpret_cast<std::byte*>(copy.data()) + 28,
                  static_cast<uint16_t>(name.size()));
    }
    bytes.replace(to, copy.size(), copy);
    to += copy.size();
  }
  bytes.resize(to);
  return {};
}

// Returns the offset and size of the central directory, as stated in the end record, or in the
// zip64 record if a locator is directly before the end record. `end`: offset of the end record in
// `tail`, which begins at `begin` in the file.
Result<ZipDirectoryPlace> PlaceAt(View tail, size_t end, uint64_t begin) {
  const auto damaged = [](std::string_view what) {
    return Fail(ErrorCode::kDamaged, "damaged zip file: {}", what);
  };
  ZipDirectoryPlace place;
  place.members = Get16(tail, end + 10);
  place.size = Get32(tail, end + 12);
  place.offset = Get32(tail, end + 16);
  uint64_t records_begin = begin + end;
  uint64_t disks = uint64_t{Get16(tail, end + 4)} | Get16(tail, end + 6);
  if (end >= kLocator && Get32(tail, end - kLocator) == kLocatorSignature) {
    const uint64_t at = Get64(tail, end - kLocator + 8);
    if (at < begin || at > begin + end - kLocator || begin + end - kLocator - at < kZip64End) {
      return damaged("the zip64 record is not before its locator");
    }
    const View record = tail.subspan(static_cast<size_t>(at - begin), kZip64End);
    if (Get32(record, 0) != kZip64EndSignature) return damaged("its zip64 record is missing");
    disks = uint64_t{Get32(record, 16)} | Get32(record, 20);
    place.members = Get64(record, 32);
    place.size = Get64(record, 40);
    place.offset = Get64(record, 48);
    records_begin = at;
  }
  if (disks != 0 && disks != kNone16) {
    return Fail(ErrorCode::kUnsupported, "a zip file in several parts: join them first (zip -s 0)");
  }
  const auto directory_end = CheckedAdd(place.offset, place.size);
  if (!directory_end || *directory_end > records_begin) {
    return damaged("its directory extends beyond the end of the file; is the file complete?");
  }
  if (*directory_end != records_begin) {
    return damaged("its directory is misplaced: bytes were added before or after the archive");
  }
  if (place.members > place.size / kRecord) return damaged("too many members for its directory");
  return place;
}

}  // namespace

Result<ZipDirectoryPlace> FindZipDirectory(View tail, uint64_t file_size) {
  // The comment may contain bytes that look like an end record. The comment of the real record ends
  // at the end of the file.
  for (size_t at = tail.size() < kEnd ? 0 : tail.size() - kEnd + 1; at-- > 0;) {
    if (Get32(tail, at) != kEndSignature) continue;
    if (at + kEnd + Get16(tail, at + 20) != tail.size()) continue;
    return PlaceAt(tail, at, file_size - tail.size());
  }
  return Fail(ErrorCode::kDamaged, "not a zip file, or incomplete: no directory at its end");
}

Result<ZipDirectory> ZipDirectory::Parse(std::string bytes, const ZipDirectoryPlace& place) {
  ZipDirectory directory;
  uint64_t members = place.members;
  if (auto spelled = SpellAsKeys(bytes, members); !spelled) return Fail(spelled);
  directory.bytes_ = std::move(bytes);
  const std::string_view all = directory.bytes_;
  std::vector<uint64_t>& records = directory.records_;
  records.reserve(static_cast<size_t>(std::min<uint64_t>(members, all.size() / kRecord)));
  for (size_t at = 0; at < all.size();) {
    const auto record = ParseRecord(all.substr(at));
    if (!record || records.size() == members) {
      return Fail(ErrorCode::kDamaged, "damaged zip file: record {} of its directory is invalid",
                  records.size());
    }
    const ZipMember& member = record->member;
    if (member.name.empty() || !IsValidKey(member.name)) {
      return Fail(ErrorCode::kDamaged,
                  "a member of the zip file has a name that is not a path inside it: "
                  "'{}'",
                  Visible(member.name));
    }
    const bool is_inside = member.header <= place.offset &&
                           kZipLocalHeader + member.name.size() <= place.offset - member.header &&
                           member.packed_size <= place.offset - member.header;
    if (!is_inside || (member.method == kZipStored && !member.is_encrypted &&
                       member.size != member.packed_size)) {
      return Fail(ErrorCode::kDamaged, "{}: damaged zip file: wrong size or place",
                  Visible(member.name));
    }
    records.push_back(at);
    at += record->length;
  }
  if (records.size() != members) {
    return Fail(ErrorCode::kDamaged, "damaged zip file: {} members in its directory, expected {}",
                records.size(), members);
  }
  const auto name_of = [all](uint64_t at) { return SortedNameOf(all.substr(at)); };
  std::ranges::sort(records, [&](uint64_t a, uint64_t b) {
    const int order = name_of(a).compare(name_of(b));
    // Sorts records with equal names by descending offset, so the last record in the file comes
    // first.
    return order != 0 ? order < 0 : a > b;
  });
  const auto is_repeated = [&](uint64_t a, uint64_t b) { return name_of(a) == name_of(b); };
  records.erase(std::unique(records.begin(), records.end(), is_repeated), records.end());
  for (size_t i = 0; i < records.size(); ++i) {
    const std::string_view name = directory.SortedName(i);
    // In sorted order, all names that begin with `name` directly follow it. Names below a folder
    // called `name` need not be the first of these names, so LowerBound() searches for them.
    if (i + 1 == records.size() || !directory.SortedName(i + 1).starts_with(name)) continue;
    if (name.ends_with('/')) continue;
    const std::string below = std::string(name) + "/";
    const size_t next = directory.LowerBound(below);
    if (next < records.size() && directory.SortedName(next).starts_with(below)) {
      return Fail(ErrorCode::kDamaged, "{}: a file and a folder of the zip file have this name",
                  Visible(name));
    }
  }
  return directory;
}

ZipMember ZipDirectory::At(size_t number) const {
  return ParseRecord(std::string_view(bytes_).substr(records_[number]))->member;
}

std::string_view ZipDirectory::SortedName(size_t number) const {
  return SortedNameOf(std::string_view(bytes_).substr(records_[number]));
}

size_t ZipDirectory::LowerBound(std::string_view name) const {
  const auto found = std::ranges::lower_bound(records_, name, {}, [this](uint64_t at) {
    return SortedNameOf(std::string_view(bytes_).substr(at));
  });
  return static_cast<size_t>(found - records_.begin());
}

Result<uint64_t> ZipDataOffset(View header, const ZipMember& member) {
  const auto wrong = [&](std::string_view what) {
    return Fail(ErrorCode::kDamaged, "damaged zip file: its local header {}", what);
  };
  if (header.size() < kZipLocalHeader || Get32(header, 0) != kLocalSignature) {
    return wrong("is not where the directory says");
  }
  const size_t stored_size = Get16(header, 26);
  const size_t name_size = member.name.size() + (member.is_folder ? 1 : 0);
  const auto* const text = reinterpret_cast<const char*>(header.data());
  std::string stored(text + kZipLocalHeader,
                     std::min(header.size() - kZipLocalHeader, stored_size));
  // SpellAsKeys() has removed a leading "./" from the directory's copy of the name.
  const size_t dots = stored.size() - WithoutDots(stored).size();
  const std::string_view expected = member.name;
  stored.erase(0, dots);
  for (size_t i = 0; i < std::min(stored.size(), expected.size()); ++i) {
    if (stored[i] == '\\' && expected[i] == '/') stored[i] = '/';
  }
  const size_t compared = std::min(stored.size(), expected.size());
  if (stored_size - dots != name_size || Get16(header, 8) != member.method ||
      compared + dots < expected.size() ||
      stored.substr(0, compared) != expected.substr(0, compared)) {
    return wrong("belongs to another member");
  }
  return kZipLocalHeader + stored_size + Get16(header, 28);
}

}  // namespace zarrfs
