#include "zarrcore/store/selected_names.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxPattern = 255;  // in bytes
constexpr std::array<std::string_view, 5> kDocuments = {"zarr.json", ".zgroup", ".zarray",
                                                        ".zattrs", ".zmetadata"};

bool MatchesAny(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

class SelectedStream final : public FolderStream {
 public:
  SelectedStream(std::unique_ptr<FolderStream> stream, const NamePatterns& patterns)
      : stream_(std::move(stream)), patterns_(patterns) {}

  Result<std::vector<ListEntry>> Next(size_t count) override {
    for (;;) {
      auto entries = stream_->Next(count);
      if (!entries || entries->empty()) return entries;
      std::erase_if(*entries, [&](const ListEntry& entry) { return !patterns_.Has(entry.name); });
      if (!entries->empty()) return entries;
    }
  }

 private:
  const std::unique_ptr<FolderStream> stream_;
  const NamePatterns patterns_;
};

class SelectedStore final : public ForwardingStore {
 public:
  SelectedStore(std::shared_ptr<const Store> store, NamePatterns patterns)
      : ForwardingStore(std::move(store)), patterns_(std::move(patterns)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    if (!Has(key)) return Absent(key);
    return ForwardingStore::Stat(key);
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    if (!Has(key)) return Absent(key);
    return ForwardingStore::Read(key, range, out);
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    if (!Has(folder)) return Absent(folder);
    auto stream = ForwardingStore::OpenFolder(folder);
    if (stream && folder.empty()) {
      stream = std::make_unique<SelectedStream>(*std::move(stream), patterns_);
    }
    return stream;
  }

 private:
  [[nodiscard]] bool Has(std::string_view key) const {
    return key.empty() || patterns_.Has(key.substr(0, key.find('/')));
  }
  static tl::unexpected<Error> Absent(std::string_view key) {
    return Fail(ErrorCode::kNotFound, "{}: hidden by the option show= or hide=", key);
  }

  const NamePatterns patterns_;
};

}  // namespace

bool NamePatterns::Has(std::string_view name) const {
  if (std::ranges::find(kDocuments, name) != kDocuments.end()) return true;
  const std::string text(name);
  return (show.empty() || MatchesAny(show, text)) && !MatchesAny(hide, text);
}

std::optional<std::vector<std::string>> ParsePatterns(std::string_view text) {
  std::vector<std::string> patterns;
  for (;;) {
    const size_t colon = text.find(':');
    const std::string_view pattern = text.substr(0, colon);
    if (pattern.empty() || pattern.size() > kMaxPattern ||
        pattern.find_first_of(std::string_view("/\0", 2)) != pattern.npos) {
      return std::nullopt;
    }
    patterns.emplace_back(pattern);
    if (colon == text.npos) return patterns;
    text.remove_prefix(colon + 1);
  }
}

std::shared_ptr<const Store> SelectNames(std::shared_ptr<const Store> store,
                                         NamePatterns patterns) {
  if (patterns.empty()) return store;
  return std::make_shared<SelectedStore>(std::move(store), std::move(patterns));
}

}  // namespace zarrfs
