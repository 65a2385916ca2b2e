#include "tools/zarrctl/pack/array_packer.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/zarrctl/shard_file.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/vlen.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes per read
constexpr size_t kCachedIndexes = size_t{64} << 20;

tl::unexpected<Error> Differs(const std::string& key, std::string_view how) {
  return Fail(ErrorCode::kDamaged, "{}: the packed copy {}", key, how);
}

}  // namespace

Result<std::unique_ptr<ArrayPacker>> ArrayPacker::Make(const ArrayPlan& plan, const Store& source,
                                                       const std::shared_ptr<const Store>& target,
                                                       const std::string& folder,
                                                       const std::string& partial,
                                                       const std::string& path) {
  auto packer = std::unique_ptr<ArrayPacker>(new ArrayPacker(plan, source));
  const ArrayMetadata& array = *plan.node->array();
  const std::string key = JoinKey(plan.node->path, kZarrJson);
  packer->path_ = path;
  packer->folder_ = path.empty() ? folder : folder + "/" + path;
  packer->partial_ = partial;
  packer->target_ = target;
  auto metadata = ParseZarrJson(plan.document, key);
  if (!metadata) return Fail(metadata);
  const auto* packed = std::get_if<ArrayMetadata>(&*metadata);
  if (packed == nullptr) return Fail(ErrorCode::kDamaged, "{}: not an array", key);
  auto chunks =
      ChunkSource::Make(target, path, *packed, std::make_shared<IndexCache>(target, kCachedIndexes),
                        [](const Error&) {});
  if (!chunks) return Fail(chunks);
  packer->packed_ = std::move(*chunks);
  if (!plan.recoded) return packer;
  if (array.data_type.item_size == 0) {
    auto text = BytesPipeline::Make(std::span(array.codecs).subspan(1));
    if (!text) return Fail(text);
    packer->text_ = std::move(*text);
    return packer;
  }
  auto encoder = Pipeline::Make(*plan.recoded, {array.data_type, array.chunk_shape});
  if (!encoder) return Fail(encoder);
  packer->encoder_ = std::move(*encoder);
  return packer;
}

std::string ArrayPacker::PathOf(uint64_t object) const {
  ChunkCoordinates at;
  plan_.objects.Coordinates(object, at);
  return plan_.naming.Path(std::span(at).first(plan_.objects.rank()));
}

template <typename Visit>
Result<void> ArrayPacker::VisitPieces(uint64_t object, const Visit& visit) const {
  const std::vector<uint64_t>& per_object = plan_.pieces_per_object;
  const ChunkGrid& pieces = plan_.pieces();
  ChunkCoordinates first;
  plan_.objects.Coordinates(object, first);
  for (size_t d = 0; d < pieces.rank(); ++d) first[d] *= per_object[d];
  uint64_t slots = 1;
  // The product cannot overflow, because PlanArray() limits it.
  for (const uint64_t count : per_object) slots *= count;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    ChunkCoordinates at = first;
    uint64_t rest = slot;
    bool is_inside = true;
    for (size_t d = pieces.rank(); d-- > 0; rest /= per_object[d]) {
      at[d] += rest % per_object[d];
      is_inside = is_inside && at[d] < pieces.counts()[d];
    }
    if (!is_inside) continue;
    const uint64_t piece = pieces.Linear(at);
    auto visited = visit(slot, plan_.node->chunks->ObjectKey(OuterIndex{piece}), piece);
    if (!visited) return visited;
  }
  return {};
}

Result<uint64_t> ArrayPacker::CopyPiece(const std::string& key, OutputFile& out) const {
  static thread_local Bytes buffer(kPiece);
  const auto answer = source_.Read(key, ByteRange::At(0, kPiece), buffer);
  if (!answer) return Fail(answer);
  const uint64_t size = answer->object->info().size();
  const auto& pipeline = plan_.node->chunks->layout().inner_pipeline;
  const bool is_chunk = !plan_.node->chunks->layout().is_sharded();
  if (size == 0 || (is_chunk && pipeline && pipeline->encoded_size().value_or(size) != size)) {
    return Fail(ErrorCode::kDamaged, "{}: {} bytes, which no chunk of the array can have", key,
                size);
  }
  if (const auto added = out.Append(BytesView(buffer).first(answer->length)); !added) {
    return Fail(added);
  }
  for (uint64_t at = answer->length; at < size;) {
    const auto piece = std::span(buffer).first(std::min<uint64_t>(kPiece, size - at));
    if (const auto read = answer->object->Read(at, piece); !read) return Fail(read);
    if (const auto added = out.Append(piece); !added) return Fail(added);
    at += piece.size();
  }
  return size;
}

Result<Bytes> ArrayPacker::ReadPiece(const std::string& key) const {
  auto whole = ReadWhole(source_, key, kMaxChunkBytes);
  if (!whole) return Fail(whole);
  const auto bytes = std::as_bytes(std::span(whole->bytes));
  return Bytes(bytes.begin(), bytes.end());
}

Result<Bytes> ArrayPacker::Decode(Bytes piece) const {
  if (plan_.node->array()->data_type.item_size == 0) {
    auto memory = ProcessMemory().Take(text_.MemoryToDecode(piece.size(), kMaxTextChunk));
    if (!memory) return Fail(memory);
    return text_.Decode(std::move(piece), kMaxTextChunk);
  }
  const auto& pipeline = plan_.node->chunks->layout().inner_pipeline;
  if (!pipeline) return Fail(pipeline);
  auto memory = ProcessMemory().Take(pipeline->MemoryToDecode(piece.size()));
  if (!memory) return Fail(memory);
  return pipeline->Decode(std::move(piece));
}

Result<uint64_t> ArrayPacker::RecodePiece(const std::string& key, OutputFile& out) const {
  static const auto zstd = MakeZstdCodec(CodecSpec{"zstd", Json{{"level", 3}}});
  if (!zstd) return Fail(zstd);
  auto piece = ReadPiece(key);
  if (!piece) return Fail(piece);
  const auto decoded = Decode(std::move(*piece));
  if (!decoded) return Fail(decoded.error().code, "{}: {}", key, decoded.error().message);
  const auto encoded = encoder_ ? encoder_->Encode(*decoded) : (*zstd)->Encode(*decoded);
  if (!encoded) return Fail(encoded.error().code, "{}: {}", key, encoded.error().message);
  if (const auto added = out.Append(*encoded); !added) return Fail(added);
  return uint64_t{encoded->size()};
}

Result<ArrayPacker::Packed> ArrayPacker::Pack(uint64_t object) const {
  const std::string path = PathOf(object);
  const std::string file = folder_ + "/" + path;
  std::error_code error;
  if (std::filesystem::exists(file, error)) return Packed{.was_there = true};
  auto out = OutputFile::Create(partial_);
  if (!out) return Fail(out);
  uint64_t slots = 1;
  for (const uint64_t count : plan_.pieces_per_object) slots *= count;
  std::vector<ChunkRange> ranges(slots, kMissingChunk);
  const auto copied =
      VisitPieces(object, [&](uint64_t slot, const std::string& key, uint64_t) -> Result<void> {
        const uint64_t offset = out->size();
        const auto size = plan_.recoded ? RecodePiece(key, *out) : CopyPiece(key, *out);
        if (size) {
          ranges[slot] = {offset, *size};
        } else if (size.error().code != ErrorCode::kNotFound) {
          return Fail(size);
        }
        return {};
      });
  if (!copied) return Fail(copied);
  if (out->size() == 0) return Packed{};
  if (plan_.has_index) {
    if (const auto added = out->Append(EncodeShardIndex(ranges)); !added) return Fail(added);
  }
  const uint64_t bytes = out->size();
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  if (error) return Fail(FromErrno(error.value()), "{}: {}", file, error.message());
  if (const auto committed = out->CommitAs(file); !committed) return Fail(committed);
  return Packed{.bytes = bytes};
}

Result<void> ArrayPacker::CompareFiles(const std::string& key, const std::string& packed) const {
  Bytes buffers[2] = {Bytes(kPiece), Bytes(kPiece)};
  const auto from = source_.Read(key, ByteRange::At(0, kPiece), buffers[0]);
  const auto to = target_->Read(packed, ByteRange::At(0, kPiece), buffers[1]);
  if (!from && from.error().code != ErrorCode::kNotFound) return Fail(from);
  if (!to && to.error().code != ErrorCode::kNotFound) return Fail(to);
  if (from.has_value() != to.has_value()) return Differs(key, "is missing, or the source lacks it");
  if (!from) return {};
  const uint64_t size = from->object->info().size();
  if (to->object->info().size() != size) return Differs(key, "has another size");
  for (uint64_t at = 0; at < size; at += kPiece) {
    const size_t length = std::min<uint64_t>(kPiece, size - at);
    for (const auto& [object, buffer] :
         {std::pair(from->object, &buffers[0]), {to->object, &buffers[1]}}) {
      if (auto read = object->Read(at, std::span(*buffer).first(length)); !read) return read;
    }
    if (!std::ranges::equal(BytesView(buffers[0]).first(length),
                            BytesView(buffers[1]).first(length))) {
      return Differs(key, "has other bytes");
    }
  }
  return {};
}

Result<void> ArrayPacker::ComparePiece(const std::string& key, InnerIndex chunk) const {
  auto piece = ReadPiece(key);
  if (!piece && piece.error().code != ErrorCode::kNotFound) return Fail(piece);
  const auto located = packed_->Locate(chunk, kAnyAge);
  if (!located) return Fail(located);
  if (located->location.has_value() != piece.has_value())
    return Differs(key, "is missing, or the source lacks it");
  if (!piece) return {};
  const ChunkLocation& location = *located->location;
  if (location.length > kMaxChunkBytes) return Differs(key, "has another size");
  Bytes packed(location.length);
  if (auto read = location.shard->object->Read(location.offset, packed); !read) return read;
  if (!plan_.recoded && packed != *piece) return Differs(key, "has other bytes");
  const auto& pipeline = packed_->layout().inner_pipeline;
  const bool is_text = plan_.node->array()->data_type.item_size == 0;
  if (!plan_.recoded && (is_text || !pipeline)) return {};
  const auto wanted = Decode(std::move(*piece));
  if (!wanted) return Fail(wanted.error().code, "{}: {}", key, wanted.error().message);
  if (!plan_.recoded) return {};
  static const auto zstd = MakeZstdCodec(CodecSpec{"zstd"});
  if (!zstd) return Fail(zstd);
  if (!is_text && !pipeline) return Fail(pipeline);
  const auto found = is_text ? (*zstd)->Decode(packed, kMaxChunkBytes) : pipeline->Decode(packed);
  if (!found) return Fail(found.error().code, "{}: {}", key, found.error().message);
  return *found == *wanted ? Result<void>() : Differs(key, "has other values");
}

Result<void> ArrayPacker::Verify(uint64_t object) const {
  const std::string packed = JoinKey(path_, PathOf(object));
  const bool is_copy = plan_.node->chunks->layout().is_sharded();
  return VisitPieces(object, [&](uint64_t, const std::string& key, uint64_t piece) {
    return is_copy ? CompareFiles(key, packed) : ComparePiece(key, InnerIndex{piece});
  });
}

}  // namespace zarrfs::ctl
