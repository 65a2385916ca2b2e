#include "tools/zarrctl/shard_file.h"

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/crc32c.h"

namespace zarrfs::ctl {

Bytes EncodeShardIndex(std::span<const ChunkRange> ranges) {
  Bytes index(ranges.size() * 2 * sizeof(uint64_t) + sizeof(uint32_t));
  std::byte* to = index.data();
  for (const ChunkRange& range : ranges) {
    StoreLittle(to, range.offset);
    StoreLittle(to + sizeof(uint64_t), range.length);
    to += 2 * sizeof(uint64_t);
  }
  StoreLittle(to, Crc32c(BytesView(index).first(index.size() - sizeof(uint32_t))));
  return index;
}

}  // namespace zarrfs::ctl
