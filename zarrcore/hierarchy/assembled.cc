#include "zarrcore/hierarchy/assembled.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/content/element_reader.h"
#include "zarrcore/content/element_window.h"

namespace zarrfs {
namespace {

// The number of bytes of elements that are read and converted at a time.
constexpr uint64_t kPieceBytes = 1u << 20;

// Returns the first array in the file whose bytes end after `offset`.
auto PartAt(const AssembledFile& file, uint64_t offset) {
  return std::ranges::upper_bound(file.parts, offset, {},
                                  [](const FilePart& part) { return part.offset + part.size(); });
}

class PartReader {
 public:
  PartReader(const Assembled& assembled, const FilePart& part, ChunkReader& chunks, Age max_age,
             const CheckChunkOf& check, Reuse reuse)
      : part_(part),
        piece_bytes_(reuse == Reuse::kNever ? UINT64_MAX : kPieceBytes),
        array_(*assembled.arrays[part.array]),
        is_text_(array_.array()->data_type.kind == DataKind::kString),
        type_(is_text_ ? part.form.type : array_.array()->data_type),
        reader_(
            *array_.array(), *array_.chunks, chunks, max_age,
            [this, &check](InnerIndex chunk, const Located& found) {
              return check(array_, chunk, found);
            },
            is_text_ ? &type_ : nullptr, reuse) {}

  // Fills `out` with the part's bytes from `offset` on. The part must have that many bytes.
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const {
    const size_t item = part_.form.item_size();
    const uint64_t most = std::max<uint64_t>(piece_bytes_ / std::max(type_.item_size, item), 1);
    while (!out.empty()) {
      const uint64_t first = offset / item;
      const uint64_t skipped = offset % item;
      const uint64_t elements = std::min(CeilDiv(skipped + out.size(), item), most);
      const auto piece = out.first(std::min<uint64_t>(elements * item - skipped, out.size()));
      auto read = part_.form.is_as_stored() && piece.size() == elements * item
                      ? ReadInPlace(first, piece)
                      : ReadPiece(first, elements, skipped, piece);
      if (!read) return read;
      out = out.subspan(piece.size());
      offset += piece.size();
    }
    return {};
  }

 private:
  Result<void> ReadInPlace(uint64_t first, std::span<std::byte> out) const {
    auto read = reader_.Read(first, out);
    if (read && part_.form.is_big_endian) ReverseByteOrder(out, type_);
    return read;
  }

  // Reads `elements` elements, starting with element `first` of the array, and converts them to the
  // file's type. Fills `out` with the converted bytes after the first `skipped` bytes.
  Result<void> ReadPiece(uint64_t first, uint64_t elements, uint64_t skipped,
                         std::span<std::byte> out) const {
    const uint64_t bytes = elements * (type_.item_size + part_.form.item_size());
    const auto memory = ProcessMemory().Take(bytes);
    if (!memory) return Fail(memory);
    Bytes stored(elements * type_.item_size);
    if (auto read = reader_.Read(first, stored); !read) return read;
    const auto formed = InForm(std::move(stored), type_, part_.form);
    if (!formed) {
      return Fail(formed.error().code, "{}: {}", array_.path, formed.error().message);
    }
    std::memcpy(out.data(), formed->data() + skipped, out.size());
    return {};
  }

  const FilePart& part_;
  const uint64_t piece_bytes_;
  const Node& array_;
  const bool is_text_;  // true if the elements are strings of variable length
  const DataType& type_;
  const ElementReader reader_;
};

}  // namespace

Result<void> ReadAssembled(const Assembled& assembled, uint64_t offset, std::span<std::byte> out,
                           ChunkReader& chunks, Age max_age, const CheckChunkOf& check,
                           Reuse reuse) {
  const AssembledFile& file = assembled.file;
  // Returns the part of `out` for the next `bytes` of the requested range, and advances `out` and
  // `offset` past that part.
  const auto take = [&](uint64_t bytes) {
    const auto piece = out.first(std::min<uint64_t>(bytes, out.size()));
    out = out.subspan(piece.size());
    offset += piece.size();
    return piece;
  };
  if (offset < file.header.size()) {
    const auto rest = std::as_bytes(std::span(file.header)).subspan(offset);
    const auto piece = take(rest.size());
    std::ranges::copy(rest.first(piece.size()), piece.begin());
  }
  auto part = PartAt(file, offset);
  for (; !out.empty(); ++part) {
    const uint64_t begin = part == file.parts.end() ? file.size : part->offset;
    if (offset < begin) std::ranges::fill(take(begin - offset), std::byte{0});
    if (out.empty() || part == file.parts.end()) break;
    const uint64_t in_part = offset - part->offset;
    const PartReader reader(assembled, *part, chunks, max_age, check, reuse);
    if (auto read = reader.Read(in_part, take(part->size() - in_part)); !read) return read;
  }
  return {};
}

std::optional<AssembledWindow> WindowAt(const Assembled& assembled, uint64_t offset,
                                        uint64_t enough, uint64_t most) {
  const auto part = PartAt(assembled.file, offset);
  if (part == assembled.file.parts.end()) return std::nullopt;
  const Node& array = *assembled.arrays[part->array];
  const size_t item = part->form.item_size();
  // Memory per element. While an element is converted, both its stored and its converted form are
  // in memory.
  const uint64_t held =
      part->form.is_as_stored() ? item : item + array.array()->data_type.item_size;
  const uint64_t element = (std::max(offset, part->offset) - part->offset) / item;
  const auto window = WindowAt(array.array()->shape, array.chunks->layout().inner_chunk_shape,
                               element, enough / held, most / held);
  if (!window) return std::nullopt;
  return AssembledWindow{part->offset + window->first * item, window->count * item, part->array,
                         window->first};
}

}  // namespace zarrfs
