#include "tools/zarrctl/view_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "tools/zarrctl/output.h"
#include "zarrcore/codec/zstd_frame.h"

namespace zarrfs::ctl {
namespace {

using Kind = ChunkEncoding::Kind;

struct Serving {
  std::string_view word;
  std::string_view text;
};

Result<Serving> ServingOf(const ChunkEncoding& encoding, const ChunkLocation& location) {
  const uint64_t cut = encoding.cut_front + encoding.cut_back;
  if (encoding.kind == Kind::kDecoded) return Serving{"transcoded", "the stored chunk, decoded"};
  if (encoding.kind == Kind::kPatchedZstd && location.length >= cut) {
    const auto serving = ServeZstd(
        location.length - cut, encoding.size == 0 ? std::nullopt : std::optional(encoding.size),
        [&](uint64_t at, std::span<std::byte> to) {
          return location.shard->object->Read(location.offset + encoding.cut_front + at, to);
        });
    if (!serving) return Fail(serving);
    if (serving->kind == ZstdServing::Kind::kPatch) {
      return Serving{"patched", "the stored chunk, its zstd frame patched to state its size"};
    }
    if (serving->kind == ZstdServing::Kind::kRecode) {
      return Serving{"recompressed", "the stored chunk, compressed anew as one zstd frame"};
    }
  }
  if (cut > 0) return Serving{"cut", "the stored chunk without its checksum"};
  return Serving{"exact", "the stored chunk as it is"};
}

}  // namespace

Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                  const std::optional<ChunkLocation>& location) {
  ViewFile file;
  file.view = AllViews()[*chunk.view]->name();
  struct stat status {};
  if (stat(chunk.file.c_str(), &status) == 0) {
    file.size = static_cast<uint64_t>(status.st_size);
  } else if (errno != ENOENT && errno != ENOTDIR) {
    file.failure = std::strerror(errno);
    file.text = fmt::format("cannot be read through the mount: {}", *file.failure);
    return file;
  }
  const auto& array = chunk.array.node->views[*chunk.view].array;
  if (!file.size) {
    file.text = "no file of this name";
    if (array && location) {
      file.text += fmt::format("; the chunk is called {}", array->naming.Path(chunk.at()));
    }
    return file;
  }
  Serving serving{"fill", "made of the fill value: not stored"};
  if (!location && array && array->fill_chunk == nullptr) {
    serving = {"", "though the store has no such chunk: perhaps it was removed a moment ago"};
  } else if (location && array) {
    const auto served = ServingOf(array->encoding, *location);
    if (!served) return Fail(served);
    serving = *served;
  }
  file.serving = serving.word;
  file.text = fmt::format("{}, {}", CountText(*file.size, "byte"), serving.text);
  return file;
}

}  // namespace zarrfs::ctl
