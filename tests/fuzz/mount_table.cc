// Input: the text of /proc/self/mountinfo.
#include "zarrcore/os/mount_table.h"

#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = zarrfs::ParseMountTable(zarrfs::Text(data, size));
  static const size_t here = zarrfs::ZarrfsMounts().size() + zarrfs::MountsAt("/").size();
  zarrfs::Require(here > 0 && zarrfs::FindMount("/"), "a root folder on this machine");
  for (const zarrfs::Mounted& mounted : table) {
    for (const std::string& layer : zarrfs::OverlayLayers(mounted.file_system_options)) {
      zarrfs::Require(!layer.empty(), "folders that have names");
    }
    if (!mounted.path.starts_with('/')) continue;  // the kernel writes absolute paths
    for (const zarrfs::Mounted& along : zarrfs::MountsAlong(mounted.path, table)) {
      zarrfs::Require(mounted.path.starts_with(along.path), "a mount on the way to the path",
                      mounted.path);
    }
  }
  return 0;
}
