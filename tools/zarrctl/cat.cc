#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/view_file.h"
#include "zarrcore/array/chunk_encoding.h"
#include "zarrcore/base/descriptor.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kBlockBytes = 1u << 20;

void WriteBytes(BytesView bytes) {
  Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Why a file of a mount cannot be read: in the words of the store, where it has some.
int ComplainOfFile(const TargetChunk& target, int error) {
  const ChunkSource& source = *target.array.node->chunks;
  const auto located = source.Locate(InnerIndex{target.chunk}, kAnyAge);
  if (!located) return Complain(located.error());
  const std::optional<ChunkLocation>& place = located->location;
  if (error != ENOENT && error != ENOTDIR) {
    Complain(fmt::format("{}: {}", target.file, std::strerror(error)));
    return kExitSystem;
  }
  const std::string name = ChunkNaming{}.Path(target.at());
  if (!place) {
    Complain(fmt::format(
        "chunk {} is not stored: every element is the fill value (it would be in {})", name,
        target.array.FileOf(source.ObjectKey(source.OuterOf(InnerIndex{target.chunk})))));
    return kExitWrong;
  }
  std::string reason = std::strerror(error);
  if (target.view) {
    if (const auto file = DescribeViewFile(target, place)) reason = file->text;
  }
  Complain(fmt::format("{}: {}", target.file, reason));
  return kExitWrong;
}

// The bytes of a file of a mount, as the mount gives them.
int CopyFile(const TargetChunk& target) {
  const Descriptor fd(open(target.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ComplainOfFile(target, errno);
  Progress progress("", Progress::IsSeenBesideOutput());
  progress.Begin();
  Bytes buffer(kBlockBytes);
  ssize_t got = 0;
  while ((got = read(fd.get(), buffer.data(), buffer.size())) > 0 && std::ferror(stdout) == 0) {
    progress.AddDone(static_cast<uint64_t>(got));
    WriteBytes(BytesView(buffer).first(static_cast<size_t>(got)));
  }
  const int error = errno;
  progress.End();
  return got < 0 ? ComplainOfFile(target, error) : kExitOk;
}

// The elements of a chunk that is not stored.
int WriteFill(const TargetChunk& target) {
  const Node& node = *target.array.node;
  const ArrayLayout& layout = node.chunks->layout();
  const uint64_t size = layout.inner_pipeline->decoded_size();
  const ChunkEncoding encoding{.kind = ChunkEncoding::Kind::kDecoded, .size = size};
  const FillChunk chunk(*node.array(), layout, encoding);
  Bytes buffer(kBlockBytes);
  for (uint64_t done = 0; done < size && std::ferror(stdout) == 0;) {
    const auto got = chunk.Read(done, buffer);
    if (!got) return Complain(got.error());
    WriteBytes(BytesView(buffer).first(*got));
    done += *got;
  }
  return kExitOk;
}

}  // namespace

int RunCat(const CatOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  if (!target->file.empty() && !options.decode) return CopyFile(*target);
  const ChunkSource& source = *target->array.node->chunks;
  const std::string file =
      target->array.FileOf(source.ObjectKey(source.OuterOf(InnerIndex{target->chunk})));
  const std::string name = ChunkNaming{}.Path(target->at());
  const auto& pipeline = source.layout().inner_pipeline;
  if (options.decode && !pipeline) {
    return Complain(Error{
        pipeline.error().code,
        fmt::format("{}: cannot be decoded (without --decode chunks are written as stored): {}",
                    target->array.FileOf(target->array.node->path), pipeline.error().message)});
  }
  const auto located = source.Locate(InnerIndex{target->chunk}, kAnyAge);
  if (!located) return Complain(located.error());
  const std::optional<ChunkLocation>& place = located->location;
  if (!place) {
    const bool has_file = !target->file.empty() && access(target->file.c_str(), F_OK) == 0;
    if (has_file) return WriteFill(*target);
    Complain(fmt::format(
        "chunk {} is not stored: every element is the fill value (it would be in {})", name, file));
    return kExitWrong;
  }
  const Object& object = *place->shard->object;
  const uint64_t length = place->length;
  if (options.decode && length > kMaxChunkBytes) {
    Complain(fmt::format("{}: chunk {}: {} bytes are too many to decode", file, name, length));
    return kExitWrong;
  }
  Progress progress("", Progress::IsSeenBesideOutput());
  progress.AddFound(length);
  progress.Begin();
  Bytes buffer;
  for (uint64_t done = 0; done < length;) {
    buffer.resize(options.decode ? length : std::min(kBlockBytes, length - done));
    if (auto read = object.Read(place->offset + done, buffer); !read) {
      progress.Hide();
      return Complain(read.error());
    }
    done += buffer.size();
    progress.AddDone(buffer.size());
    if (!options.decode) WriteBytes(buffer);
    if (std::ferror(stdout) != 0) break;
  }
  if (options.decode) {
    const auto decoded = pipeline->Decode(buffer);
    progress.End();
    if (!decoded) {
      return Complain(Error{decoded.error().code,
                            fmt::format("{}: chunk {}: {}", file, name, decoded.error().message)});
    }
    WriteBytes(*decoded);
  }
  return kExitOk;
}

}  // namespace zarrfs::ctl
