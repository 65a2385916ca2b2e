#include "zarrcore/icechunk/manifest.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/icechunk/stored_values.h"
#include "zarrcore/icechunk/virtual_prefix.h"

namespace zarrfs {
namespace {

// The bytes of an inline chunk, or the address of a virtual chunk.
std::string_view BytesOf(const icechunk::Reference& reference) {
  if (reference.inlined() != nullptr) return TextOf(*reference.inlined());
  if (reference.location() != nullptr) return TextOf(*reference.location());
  if (reference.compressed_location() != nullptr) return TextOf(*reference.compressed_location());
  return {};
}

std::string_view EtagOf(const icechunk::Reference& reference) {
  return reference.etag() != nullptr ? TextOf(*reference.etag()) : std::string_view();
}

}  // namespace

// Packs a manifest. Reads the file twice: first to count the items, so memory for all of them can
// be reserved, and then to copy the values.
class IcechunkManifest::Packing {
 public:
  Packing(const IcechunkFile& file, const icechunk::Manifest& stored)
      : file_(file), stored_(stored) {}

  Result<void> Count() {
    for (const icechunk::ArrayReferences* array : *stored_.arrays()) {
      const auto axes = AxesOf(*array);
      if (!axes) return Fail(axes);
      ++arrays_;
      rows_ += array->references()->size();
      coordinates_ += array->references()->size() * *axes;
      for (const icechunk::Reference* reference : *array->references()) {
        if (auto checked = Check(*reference, *axes); !checked) return checked;
        if (IsShortVirtual(*reference)) {
          if (IsOfLatestPlace(*reference)) continue;
          latest_ = reference;
          ++places_;
        } else if (!IsPlain(*reference)) {
          ++others_;
        }
        bytes_ += BytesOf(*reference).size() + EtagOf(*reference).size();
      }
    }
    // A hostile file may share vectors, and would unpack to many times its size. No writer shares
    // vectors.
    if (bytes_ > file_.content.size()) return Damaged("bytes of its chunks are used twice");
    return {};
  }

  [[nodiscard]] uint64_t bytes() const {
    return arrays_ * sizeof(Array) + coordinates_ * sizeof(uint32_t) + rows_ * sizeof(Packed) +
           places_ * sizeof(Place) + others_ * sizeof(Other) + bytes_ + Dictionary().size();
  }

  Result<void> Pack(IcechunkManifest& manifest) {
    latest_ = nullptr;
    manifest.arrays_.reserve(arrays_);
    manifest.coordinates_.reserve(coordinates_);
    manifest.references_.reserve(rows_);
    manifest.places_.reserve(places_);
    manifest.others_.reserve(others_);
    manifest.bytes_.reserve(bytes_);
    manifest.dictionary_ = Dictionary();
    for (const icechunk::ArrayReferences* array : *stored_.arrays()) {
      Array packed{NodeIdOf(*array->node()), AxesOf(*array).value(), manifest.references_.size(),
                   array->references()->size(), manifest.coordinates_.size()};
      if (!manifest.arrays_.empty() && !(manifest.arrays_.back().node < packed.node)) {
        return Damaged("its arrays are not sorted");
      }
      manifest.arrays_.push_back(packed);
      const icechunk::Reference* before = nullptr;
      for (const icechunk::Reference* reference : *array->references()) {
        const bool is_sorted = before == nullptr || std::ranges::lexicographical_compare(
                                                        *before->index(), *reference->index());
        if (!is_sorted) return Damaged("its references are not sorted");
        before = reference;
        Add(*reference, manifest);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view how) const {
    return Fail(ErrorCode::kDamaged, "{}: damaged: {}", file_.key, how);
  }

  [[nodiscard]] std::string_view Dictionary() const {
    const auto* const stored = stored_.location_dictionary();
    return stored != nullptr ? TextOf(*stored) : std::string_view();
  }

  // The number of coordinates of each reference of an array.
  [[nodiscard]] Result<size_t> AxesOf(const icechunk::ArrayReferences& array) const {
    if (array.references()->size() == 0) return 0;
    const size_t axes = array.references()->Get(0)->index()->size();
    if (axes > kIcechunkMaxRank) {
      return Fail(ErrorCode::kUnsupported, "{}: chunks of {} dimensions, expected at most {}",
                  file_.key, axes, kIcechunkMaxRank);
    }
    return axes;
  }

  [[nodiscard]] Result<void> Check(const icechunk::Reference& reference, size_t axes) const {
    if (reference.index()->size() != axes) return Damaged("chunks of an array differ in rank");
    const int kinds = (reference.inlined() != nullptr ? 1 : 0) +
                      (reference.chunk() != nullptr ? 1 : 0) +
                      (reference.location() != nullptr ? 1 : 0) +
                      (reference.compressed_location() != nullptr ? 1 : 0);
    if (kinds != 1) return Damaged("a reference does not have exactly one kind");
    const bool fits = reference.length() <= INT64_MAX && reference.offset() <= INT64_MAX;
    if (!fits) return Damaged("a reference leads beyond the end of any file");
    return {};
  }

  static bool IsPlain(const icechunk::Reference& reference) {
    return reference.chunk() != nullptr && reference.offset() == 0 &&
           reference.length() <= kMaxShort;
  }
  static bool IsShortVirtual(const icechunk::Reference& reference) {
    return reference.chunk() == nullptr && reference.inlined() == nullptr &&
           reference.length() <= kMaxShort;
  }
  // True if a virtual chunk is in the same file as the previous one (`latest_`), so both share a
  // Place. Writers repeat the address and ETag of a file for each chunk, and chunks of a file are
  // usually consecutive.
  [[nodiscard]] bool IsOfLatestPlace(const icechunk::Reference& reference) const {
    return latest_ != nullptr && BytesOf(*latest_) == BytesOf(reference) &&
           EtagOf(*latest_) == EtagOf(reference) && latest_->modified() == reference.modified() &&
           (latest_->location() == nullptr) == (reference.location() == nullptr);
  }

  void AddVirtual(const icechunk::Reference& reference, IcechunkManifest& manifest) {
    if (!IsOfLatestPlace(reference)) {
      latest_ = &reference;
      const std::string_view address = BytesOf(reference);
      const std::string_view etag = EtagOf(reference);
      // The sizes fit into 32 bits, because a flatbuffer has less than 2 GiB.
      manifest.places_.push_back({.begin = manifest.bytes_.size(),
                                  .size = static_cast<uint32_t>(address.size()),
                                  .etag_size = static_cast<uint32_t>(etag.size()),
                                  .modified = reference.modified(),
                                  .is_compressed = reference.location() == nullptr});
      manifest.bytes_ += address;
      manifest.bytes_ += etag;
    }
    const auto place = static_cast<uint32_t>(manifest.places_.size() - 1);
    const uint64_t offset = reference.offset();
    Packed packed;
    std::memcpy(packed.id.data(), &place, sizeof place);
    std::memcpy(packed.id.data() + sizeof place, &offset, sizeof offset);
    packed.length = static_cast<uint32_t>(reference.length()) | kIsVirtual;
    manifest.references_.push_back(packed);
  }

  void Add(const icechunk::Reference& reference, IcechunkManifest& manifest) {
    const auto* index = reference.index();
    manifest.coordinates_.insert(manifest.coordinates_.end(), index->begin(), index->end());
    if (IsShortVirtual(reference)) return AddVirtual(reference, manifest);
    Packed packed;
    if (IsPlain(reference)) {
      packed.id = IdOf(*reference.chunk());
      packed.length = static_cast<uint32_t>(reference.length());
      manifest.references_.push_back(packed);
      return;
    }
    const uint64_t number = manifest.others_.size();
    std::memcpy(packed.id.data(), &number, sizeof number);
    packed.length = kOther;
    manifest.references_.push_back(packed);
    Other other;
    const std::string_view bytes = BytesOf(reference);
    other.kind = reference.inlined() != nullptr ? IcechunkReference::Kind::kInline
                 : reference.chunk() != nullptr ? IcechunkReference::Kind::kNative
                                                : IcechunkReference::Kind::kVirtual;
    other.is_compressed = reference.compressed_location() != nullptr;
    if (reference.chunk() != nullptr) other.chunk = IdOf(*reference.chunk());
    const bool is_inline = reference.inlined() != nullptr;
    other.offset = is_inline ? 0 : reference.offset();
    other.length = is_inline ? bytes.size() : reference.length();
    other.begin = manifest.bytes_.size();
    other.size = bytes.size();
    manifest.bytes_ += bytes;
    const std::string_view etag = EtagOf(reference);
    other.etag_size = static_cast<uint32_t>(etag.size());  // flatbuffers are smaller than 2 GiB
    manifest.bytes_ += etag;
    other.modified = reference.modified();
    manifest.others_.push_back(other);
  }

  const IcechunkFile& file_;
  const icechunk::Manifest& stored_;
  uint64_t arrays_ = 0;
  uint64_t rows_ = 0;
  uint64_t coordinates_ = 0;
  uint64_t places_ = 0;
  uint64_t others_ = 0;
  uint64_t bytes_ = 0;
  const icechunk::Reference* latest_ = nullptr;  // the first reference that uses the last Place
};

Result<std::shared_ptr<const IcechunkManifest>> IcechunkManifest::Parse(IcechunkFile file,
                                                                        const IcechunkId& id) {
  const auto table = IcechunkTable<icechunk::Manifest>(file);
  if (!table) return Fail(table);
  if (const auto found = IdOf(*(*table)->id()); found != id) {
    return Fail(ErrorCode::kDamaged, "{}: damaged: holds the manifest {}", file.key,
                IcechunkIdText(found));
  }
  Packing packing(file, **table);
  if (auto counted = packing.Count(); !counted) return Fail(counted);
  auto memory = ProcessMemory().Take(packing.bytes(), file.memory.bytes());
  if (!memory) {
    return Fail(memory.error().code, "{}: {} bytes decompressed, {} packed: {}", file.key,
                file.content.size(), packing.bytes(), memory.error().message);
  }
  auto manifest = std::make_shared<IcechunkManifest>();
  manifest->memory_ = *std::move(memory);
  if (auto packed = packing.Pack(*manifest); !packed) return Fail(packed);
  manifest->info_ = std::move(file.info);
  return manifest;
}

size_t IcechunkManifest::Rows::LowerBound(std::span<const uint32_t> prefix) const {
  size_t begin = 0;
  size_t end = count;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const auto row = At(middle).first(std::min(prefix.size(), axes));
    if (std::ranges::lexicographical_compare(row, prefix)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool IcechunkManifest::Rows::BeginsWith(size_t row, std::span<const uint32_t> prefix) const {
  return row < count && prefix.size() <= axes &&
         std::ranges::equal(At(row).first(prefix.size()), prefix);
}

IcechunkManifest::Rows IcechunkManifest::Find(const IcechunkNodeId& node) const {
  const auto found = std::ranges::lower_bound(arrays_, node, {}, &Array::node);
  if (found == arrays_.end() || found->node != node) return {};
  return {std::span(coordinates_).subspan(found->first_coordinate, found->count * found->axes),
          found->axes, found->first, found->count};
}

IcechunkReference IcechunkManifest::At(size_t row) const {
  const Packed& packed = references_[row];
  const std::string_view bytes(bytes_);
  if (packed.length != kOther && (packed.length & kIsVirtual) != 0) {
    uint32_t number = 0;
    uint64_t offset = 0;
    std::memcpy(&number, packed.id.data(), sizeof number);
    std::memcpy(&offset, packed.id.data() + sizeof number, sizeof offset);
    const Place& place = places_[number];
    return {IcechunkReference::Kind::kVirtual,
            place.is_compressed,
            {},
            offset,
            packed.length & ~kIsVirtual,
            bytes.substr(place.begin, place.size),
            bytes.substr(place.begin + place.size, place.etag_size),
            place.modified};
  }
  if (packed.length != kOther) {
    return {IcechunkReference::Kind::kNative, false, packed.id, 0, packed.length, {}, {}, 0};
  }
  uint64_t number = 0;
  std::memcpy(&number, packed.id.data(), sizeof number);
  const Other& other = others_[static_cast<size_t>(number)];
  return {other.kind,
          other.is_compressed,
          other.chunk,
          other.offset,
          other.length,
          bytes.substr(other.begin, other.size),
          bytes.substr(other.begin + other.size, other.etag_size),
          other.modified};
}

Result<std::string> IcechunkManifest::LocationOf(const IcechunkReference& reference) const {
  if (!reference.is_compressed)
    return std::string(reference.bytes.substr(0, kMaxVirtualLocation + 1));
  std::string location(kMaxVirtualLocation, '\0');
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  const size_t size =
      ZSTD_decompress_usingDict(context, location.data(), location.size(), reference.bytes.data(),
                                reference.bytes.size(), dictionary_.data(), dictionary_.size());
  ZSTD_freeDCtx(context);
  if (context == nullptr || ZSTD_isError(size) != 0) {
    return Fail(ErrorCode::kDamaged,
                "damaged: the address of a virtual chunk is not compressed as "
                "its manifest says, or has more than {} bytes",
                kMaxVirtualLocation);
  }
  location.resize(size);
  return location;
}

}  // namespace zarrfs
