#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kBlockBytes = 1u << 20;

void WriteBytes(BytesView bytes) {
  Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace

int RunCat(const CatOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  const ChunkSource& source = *target->array.node->chunks;
  const std::string file = target->array.FileOf(source.ObjectKey(source.OuterOf(target->chunk)));
  const std::string name = ChunkNaming{}.Path(target->at());
  const auto& pipeline = source.layout().inner_pipeline;
  if (options.decode && !pipeline) {
    return Complain(Error{
        pipeline.error().code,
        fmt::format("{}: cannot be decoded (without --decode chunks are written as stored): {}",
                    target->array.FileOf(target->array.node->path), pipeline.error().message)});
  }
  const auto place = source.Locate(target->chunk, kAnyAge);
  if (!place) return Complain(place.error());
  if (!*place) {
    Complain(fmt::format(
        "chunk {} is not stored: every element is the fill value (it would be in {})", name, file));
    return kExitWrong;
  }
  const Object& object = *(*place)->shard->object;
  const uint64_t length = (*place)->length;
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
    if (auto read = object.Read((*place)->offset + done, buffer); !read) {
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
