// Input: the text of a /proc/self/mountinfo.
#include "zarrcore/base/mount_table.h"

#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using zarrfs::Require;
  const auto table = zarrfs::ParseMountTable(zarrfs::Text(data, size));
  for (const zarrfs::Mounted& mounted : table) {
    const auto around = zarrfs::FindMountAround(mounted.path, table);
    // (The kernel writes absolute paths.)
    if (around && mounted.path.starts_with('/')) {
      Require(mounted.path.starts_with(around->path), "a mount that holds the path", mounted.path);
    }
  }
  return 0;
}
