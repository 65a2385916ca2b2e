#include "zarrcore/icechunk/manifest.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/icechunk/stored_values.h"

namespace zarrfs {
namespace {

// The bytes of an inline chunk, or the address of a virtual one.
std::string_view BytesOf(const icechunk::Reference& reference) {
  if (reference.inlined() != nullptr) return TextOf(*reference.inlined());
  if (reference.location() != nullptr) return TextOf(*reference.location());
  if (reference.compressed_location() != nullptr) return TextOf(*reference.compressed_location());
  return {};
}

}  // namespace

// Two passes over the file: what there is, so that memory is taken once; then the values.
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
        if (!IsPlain(*reference)) ++others_;
        bytes_ += BytesOf(*reference).size();
      }
    }
    // (Vectors may be shared, which no writer does, and a small file would then unpack to a large
    // one.)
    if (bytes_ > file_.content.size()) return Damaged("bytes of its chunks are used twice");
    return {};
  }

  [[nodiscard]] uint64_t bytes() const {
    return arrays_ * sizeof(Array) + coordinates_ * sizeof(uint32_t) + rows_ * sizeof(Packed) +
           others_ * sizeof(Other) + bytes_;
  }

  Result<void> Pack(IcechunkManifest& manifest) const {
    manifest.arrays_.reserve(arrays_);
    manifest.coordinates_.reserve(coordinates_);
    manifest.references_.reserve(rows_);
    manifest.others_.reserve(others_);
    manifest.bytes_.reserve(bytes_);
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

  // How many coordinates the references of an array have.
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
    if (kinds != 1) return Damaged("a reference is not of one kind");
    const bool fits = reference.length() <= INT64_MAX && reference.offset() <= INT64_MAX;
    if (!fits) return Damaged("a reference leads beyond the end of any file");
    return {};
  }

  static bool IsPlain(const icechunk::Reference& reference) {
    return reference.chunk() != nullptr && reference.offset() == 0 && reference.length() < kOther;
  }

  static void Add(const icechunk::Reference& reference, IcechunkManifest& manifest) {
    const auto* index = reference.index();
    manifest.coordinates_.insert(manifest.coordinates_.end(), index->begin(), index->end());
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
    manifest.others_.push_back(other);
  }

  const IcechunkFile& file_;
  const icechunk::Manifest& stored_;
  uint64_t arrays_ = 0;
  uint64_t rows_ = 0;
  uint64_t coordinates_ = 0;
  uint64_t others_ = 0;
  uint64_t bytes_ = 0;
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
  if (packed.length != kOther) {
    return {IcechunkReference::Kind::kNative, false, packed.id, 0, packed.length, {}};
  }
  uint64_t number = 0;
  std::memcpy(&number, packed.id.data(), sizeof number);
  const Other& other = others_[static_cast<size_t>(number)];
  return {other.kind,   other.is_compressed,
          other.chunk,  other.offset,
          other.length, std::string_view(bytes_).substr(other.begin, other.size)};
}

}  // namespace zarrfs
