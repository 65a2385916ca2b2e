#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/content/chunk_encoding.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kBlockBytes = 1u << 20;

void WriteBytes(BytesView bytes) {
  Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Reports why a file of a mount cannot be read. `error`: the errno of the failed call on the file.
// If the store also returns an error for the chunk, reports the store's error instead, because it
// says more.
int ComplainOfFile(const TargetChunk& target, int error) {
  const auto located = target.source().Locate(target.inner(), kAnyAge);
  if (!located) return Complain(located.error());
  if (error != ENOENT && error != ENOTDIR) {
    return Complain(fmt::format("{}: {}", target.file, ErrnoText(error)), kExitSystem);
  }
  if (!located->location) return Complain(target.NotStored());
  std::string reason = ErrnoText(error);
  if (target.view) {
    if (const auto file = DescribeViewFile(target, located->location)) reason = file->text;
  }
  return Complain(fmt::format("{}: {}", target.file, reason));
}

constexpr uint64_t kUnknownSize = UINT64_MAX;

// Writes `size` bytes to stdout, one block at a time. `read` fills a block with the bytes from a
// position on, and returns the number of bytes, which is 0 at the end.
Result<void> WriteBlocks(
    uint64_t size, const std::function<Result<size_t>(uint64_t, std::span<std::byte>)>& read) {
  Progress progress("", Progress::IsSeenBesideOutput());
  progress.Begin(size == kUnknownSize ? 0 : size);
  Bytes block(std::min(kBlockBytes, size));
  for (uint64_t done = 0; done < size && std::ferror(stdout) == 0;) {
    const auto got = read(done, std::span(block).first(std::min(kBlockBytes, size - done)));
    if (!got) return Fail(got);
    if (*got == 0) break;
    WriteBytes(BytesView(block).first(*got));
    done += *got;
    progress.AddDone(*got);
  }
  return {};
}

// Copies the bytes of a file in a mount to stdout.
int CopyFile(const TargetChunk& target) {
  const Descriptor fd(open(target.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ComplainOfFile(target, errno);
  int error = 0;
  const auto written =
      WriteBlocks(kUnknownSize, [&](uint64_t, std::span<std::byte> to) -> Result<size_t> {
        const ssize_t got = read(fd.get(), to.data(), to.size());
        if (got >= 0) return static_cast<size_t>(got);
        error = errno;
        return Fail(FromErrno(error), "{}", target.file);
      });
  return written ? kExitOk : ComplainOfFile(target, error);
}

// Writes the elements of a missing chunk to stdout. They are fill values.
Result<void> WriteFill(const TargetChunk& target) {
  const ArrayLayout& layout = target.source().layout();
  const uint64_t size = layout.inner_pipeline->decoded_size();
  const ChunkEncoding encoding{.kind = ChunkEncoding::Kind::kDecoded, .size = size};
  const FillChunk chunk(*target.array.node->array(), layout, encoding);
  return WriteBlocks(size,
                     [&](uint64_t at, std::span<std::byte> to) { return chunk.Read(at, to); });
}

Result<void> WriteStored(const ChunkLocation& location) {
  return WriteBlocks(location.length, [&](uint64_t at, std::span<std::byte> to) -> Result<size_t> {
    const auto read = location.shard->object->Read(location.offset + at, to);
    if (!read) return Fail(read);
    return to.size();
  });
}

Result<void> WriteDecoded(const TargetChunk& target, const ChunkLocation& location) {
  const auto failure = [&](ErrorCode code, std::string_view what) {
    return Fail(code, "{}: chunk {}: {}", target.ObjectFile(), target.name(), what);
  };
  if (location.length > kMaxChunkBytes) {
    return failure(ErrorCode::kTooLarge,
                   fmt::format("{} bytes are too many to decode", location.length));
  }
  const auto memory = ProcessMemory().Take(
      target.source().layout().inner_pipeline->MemoryToDecode(location.length));
  if (!memory) return failure(memory.error().code, memory.error().message);
  Bytes encoded(location.length);
  if (auto read = location.shard->object->Read(location.offset, encoded); !read) return read;
  const auto decoded = target.source().layout().inner_pipeline->Decode(std::move(encoded));
  if (!decoded) return failure(decoded.error().code, decoded.error().message);
  WriteBytes(*decoded);
  return {};
}

}  // namespace

int Cat(const CatOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  if (!target->file.empty() && !options.decode) return CopyFile(*target);
  const auto& pipeline = target->source().layout().inner_pipeline;
  if (options.decode && !pipeline) {
    return Complain(Error{
        pipeline.error().code,
        fmt::format("{}: cannot be decoded (without --decode chunks are written as stored): {}",
                    target->array.FileOf(target->array.node->path), pipeline.error().message)});
  }
  const auto located = target->source().Locate(target->inner(), kAnyAge);
  if (!located) return Complain(located.error());
  const auto& location = located->location;
  const bool has_file = !target->file.empty() && access(target->file.c_str(), F_OK) == 0;
  if (!location && !has_file) return Complain(target->NotStored());
  const auto written = !location        ? WriteFill(*target)
                       : options.decode ? WriteDecoded(*target, *location)
                                        : WriteStored(*location);
  return written ? kExitOk : Complain(written.error());
}

}  // namespace zarrfs::ctl
