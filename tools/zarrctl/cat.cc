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
  const auto located = target.source().Locate(target.inner(), kAnyAge);
  if (!located) return Complain(located.error());
  if (error != ENOENT && error != ENOTDIR) {
    Complain(fmt::format("{}: {}", target.file, std::strerror(error)));
    return kExitSystem;
  }
  if (!located->location) return Complain(target.NotStored());
  std::string reason = std::strerror(error);
  if (target.view) {
    if (const auto file = DescribeViewFile(target, located->location)) reason = file->text;
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

// Writes the chunk as it is stored, a block at a time.
int WriteStored(const ChunkLocation& location) {
  Progress progress("", Progress::IsSeenBesideOutput());
  progress.AddFound(location.length);
  progress.Begin();
  Bytes block;
  for (uint64_t done = 0; done < location.length && std::ferror(stdout) == 0;) {
    block.resize(std::min(kBlockBytes, location.length - done));
    if (auto read = location.shard->object->Read(location.offset + done, block); !read) {
      progress.Hide();
      return Complain(read.error());
    }
    done += block.size();
    progress.AddDone(block.size());
    WriteBytes(block);
  }
  return kExitOk;
}

int WriteDecoded(const TargetChunk& target, const ChunkLocation& location) {
  const auto complain = [&](ErrorCode code, std::string_view what) {
    return Complain(
        Error{code, fmt::format("{}: chunk {}: {}", target.ObjectFile(), target.name(), what)});
  };
  if (location.length > kMaxChunkBytes) {
    return complain(ErrorCode::kTooLarge,
                    fmt::format("{} bytes are too many to decode", location.length));
  }
  Bytes encoded(location.length);
  if (auto read = location.shard->object->Read(location.offset, encoded); !read) {
    return Complain(read.error());
  }
  const auto decoded = target.source().layout().inner_pipeline->Decode(encoded);
  if (!decoded) return complain(decoded.error().code, decoded.error().message);
  WriteBytes(*decoded);
  return kExitOk;
}

}  // namespace

int RunCat(const CatOptions& options) {
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
  if (!located->location) {
    const bool has_file = !target->file.empty() && access(target->file.c_str(), F_OK) == 0;
    return has_file ? WriteFill(*target) : Complain(target->NotStored());
  }
  return options.decode ? WriteDecoded(*target, *located->location)
                        : WriteStored(*located->location);
}

}  // namespace zarrfs::ctl
