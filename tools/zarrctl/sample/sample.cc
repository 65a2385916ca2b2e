#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/sample/sample_stores.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

Result<void> WriteStore(const SampleStore& store, const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return Fail(FromErrno(error.value()), "{}: {}", folder.string(), error.message());
  return store.write(folder.string());
}

}  // namespace

Result<std::string> MakeRoomForSample(SampleOptions& options) {
  std::error_code error;
  options.target = fs::absolute(options.folder, error).lexically_normal().string();
  fs::create_directory(options.target, error);
  if (error) return Fail(FromErrno(error.value()), "{}: {}", options.target, error.message());
  for (const SampleStore& store : kSampleStores) {
    const fs::path folder = fs::path(options.folder) / store.name;
    if (fs::exists(fs::symlink_status(folder, error))) {
      return Fail(ErrorCode::kInvalidArgument, "{}: exists already", folder.string());
    }
  }
  return options.target;
}

int Sample(const SampleOptions& options) {
  Table table;
  for (const SampleStore& store : kSampleStores) {
    const auto written = WriteStore(store, fs::path(options.target) / store.name);
    if (!written) return Complain(written.error());
    const fs::path folder = fs::path(options.folder) / store.name;
    table.Add({Visible(folder.string()), std::string(store.what)});
  }
  table.Print();
  const std::string ocean = Visible((fs::path(options.folder) / kSampleStores[0].name).string());
  Print("To mount one on a folder of the same name in this folder: zarrfs {}\n", ocean);
  return kExitOk;
}

}  // namespace zarrfs::ctl
