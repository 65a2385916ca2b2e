// Input: the text of a /proc/self/mountinfo.
#include "zarrcore/base/mount_table.h"

#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = zarrfs::ParseMountTable(zarrfs::Text(data, size));
  for (const zarrfs::Mounted& mounted : table) {
    if (!mounted.path.starts_with('/')) continue;  // the kernel writes absolute paths
    for (const zarrfs::Mounted& along : zarrfs::MountsAlong(mounted.path, table)) {
      zarrfs::Require(mounted.path.starts_with(along.path), "a mount on the way to the path",
                      mounted.path);
    }
  }
  return 0;
}
