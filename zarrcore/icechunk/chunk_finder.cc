#include "zarrcore/icechunk/chunk_finder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "zarrcore/icechunk/icechunk_store.h"

namespace zarrfs {

IcechunkChunkFinder::IcechunkChunkFinder(std::shared_ptr<const Store> container)
    : container_(std::move(container)),
      manifests_(kManifestBytes, /*splits=*/1),
      holder_(ProcessMemory(), [this](uint64_t missing) { manifests_.Evict(missing); }) {
  manifests_.KeepLatestLarge();
}

size_t IcechunkChunkFinder::HashOfId::operator()(const IcechunkId& id) const {
  size_t hash = 0;  // the id itself serves as the hash, because ids are random
  std::memcpy(&hash, id.data(), sizeof hash);
  return hash;
}

Result<IcechunkChunkFinder::ManifestPtr> IcechunkChunkFinder::Manifest(const IcechunkId& id) {
  using Loaded = decltype(manifests_)::Loaded;
  const auto load = [&]() -> Result<Loaded> {
    const std::string key = "manifests/" + IcechunkIdText(id);
    auto file = ReadIcechunkFile(*container_, key, IcechunkFileType::kManifest);
    if (!file && file.error().code == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kIo, "{}: named by the snapshot, and missing in the repository", key);
    }
    if (!file) return Fail(file);
    auto manifest = IcechunkManifest::Parse(*std::move(file), id);
    if (!manifest) return Fail(manifest);
    const auto charge = static_cast<size_t>((*manifest)->bytes_in_memory());
    return Loaded{*std::move(manifest), charge + sizeof(IcechunkManifest)};
  };
  return manifests_.GetOrLoad(id, load);
}

Result<IcechunkManifest::Rows> IcechunkChunkFinder::RowsOf(const IcechunkManifest& manifest,
                                                           const IcechunkNode& node) {
  IcechunkManifest::Rows rows = manifest.Find(node.id);
  // Old writers assign the coordinate 0 to the only chunk of an array without dimensions.
  const bool is_scalar = node.rank == 0 && rows.count == 1 && rows.axes == 1;
  if (is_scalar && rows.At(0)[0] == 0) {
    rows.axes = 0;
    rows.coordinates = {};
  }
  if (rows.count == 0 || rows.axes == node.rank) return rows;
  return Fail(ErrorCode::kDamaged,
              "damaged: the manifest has chunks of {} dimensions, the array has {}", rows.axes,
              node.rank);
}

Result<std::optional<IcechunkChunkFinder::Found>> IcechunkChunkFinder::FindFirst(
    const IcechunkNode& node, std::span<const uint32_t> prefix) {
  for (const IcechunkBox& box : node.boxes) {
    if (!box.MayHave(prefix)) continue;
    auto manifest = Manifest(box.manifest);
    if (!manifest) return Fail(manifest);
    const auto rows = RowsOf(**manifest, node);
    if (!rows) return Fail(rows);
    const size_t row = rows->LowerBound(prefix);
    if (!rows->BeginsWith(row, prefix)) continue;
    const IcechunkReference reference = (*manifest)->At(rows->first + row);
    return Found{*std::move(manifest), reference};
  }
  return std::nullopt;
}

Result<size_t> IcechunkChunkFinder::Visit(const IcechunkNode& node, size_t most,
                                          const VisitReference& visit) {
  size_t visited = 0;
  for (const IcechunkBox& box : node.boxes) {
    if (visited == most) break;
    const auto manifest = Manifest(box.manifest);
    if (!manifest) return Fail(manifest);
    const auto rows = RowsOf(**manifest, node);
    if (!rows) return Fail(rows);
    for (size_t row = 0; row < rows->count && visited < most; ++row, ++visited) {
      visit(**manifest, (*manifest)->At(rows->first + row));
    }
  }
  return visited;
}

std::optional<std::vector<std::vector<uint32_t>>> IcechunkChunkFinder::Differences(
    const IcechunkNode& before, const IcechunkNode& next, size_t most) {
  std::vector<std::vector<uint32_t>> differ;
  const auto has = [](const IcechunkNode& node, const IcechunkId& manifest) {
    return std::ranges::any_of(node.boxes,
                               [&](const IcechunkBox& box) { return box.manifest == manifest; });
  };
  const auto is_same = [](const std::optional<Found>& a, const std::optional<Found>& b) {
    // Compressed addresses count as different, because their manifests may have different zstd
    // dictionaries.
    return a && b && a->reference == b->reference && !a->reference.is_compressed;
  };
  // Read the manifests of `next` first, because readers will use them.
  for (const auto& [node, other] : {std::pair(&next, &before), std::pair(&before, &next)}) {
    for (const IcechunkBox& box : node->boxes) {
      if (has(*other, box.manifest)) continue;
      const auto manifest = Manifest(box.manifest);
      if (!manifest) return std::nullopt;
      const auto rows = RowsOf(**manifest, *node);
      if (!rows || rows->count > most) return std::nullopt;
      most -= rows->count;
      for (size_t row = 0; row < rows->count; ++row) {
        const auto at = rows->At(row);
        const auto one = Find(*node, at);
        const auto another = Find(*other, at);
        if (!one || !another) return std::nullopt;
        if (!is_same(*one, *another)) differ.emplace_back(at.begin(), at.end());
      }
    }
  }
  std::ranges::sort(differ);  // a chunk that is in manifests of both commits was added twice
  differ.erase(std::unique(differ.begin(), differ.end()), differ.end());
  return differ;
}

Result<bool> IcechunkChunkFinder::HasAny(const IcechunkNode& node,
                                         std::span<const uint32_t> prefix) {
  return FindFirst(node, prefix).map([](const auto& found) { return found.has_value(); });
}

Result<IcechunkChunkFinder::Coordinates> IcechunkChunkFinder::Next(
    const IcechunkNode& node, std::span<const uint32_t> prefix) {
  Coordinates found;
  std::vector<uint32_t> after(prefix.begin(), prefix.end());
  after.push_back(0);
  for (const IcechunkBox& box : node.boxes) {
    if (!box.MayHave(prefix)) continue;
    const auto manifest = Manifest(box.manifest);
    if (!manifest) return Fail(manifest);
    const auto rows = RowsOf(**manifest, node);
    if (!rows) return Fail(rows);
    auto memory = ProcessMemory().Take(rows->count * sizeof(uint32_t));
    if (!memory) return Fail(memory);
    found.memory.Add(*std::move(memory));
    for (size_t row = rows->LowerBound(prefix); rows->BeginsWith(row, prefix);) {
      const uint32_t value = rows->At(row)[prefix.size()];
      found.values.push_back(value);
      if (value == UINT32_MAX) break;
      after.back() = value + 1;
      // If the next row has the same coordinate, which happens only if dimensions follow, a search
      // skips all rows with this coordinate.
      ++row;
      if (rows->BeginsWith(row, prefix) && rows->At(row)[prefix.size()] == value) {
        row = rows->LowerBound(after);
      }
    }
  }
  std::ranges::sort(found.values);
  found.values.erase(std::unique(found.values.begin(), found.values.end()), found.values.end());
  found.values.shrink_to_fit();
  found.memory.ShrinkTo(found.values.capacity() * sizeof(uint32_t));
  return found;
}

}  // namespace zarrfs
