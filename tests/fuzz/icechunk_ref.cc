// Input: the name under which a repository of version 1 stores a branch, a line break, and its
// ref.json. Lists all branches and looks each up.
#include <string>

#include "tests/fuzz/fuzzing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/icechunk/all_commits.h"
#include "zarrcore/icechunk/repository.h"

namespace zarrfs {
namespace {

void Visit(const Store& container) {
  const auto refs = ReadIcechunkRefs(container);
  if (!refs) return;
  for (const IcechunkRef& ref : *refs) {
    Require(ref.leads_somewhere() != ref.error.has_value(), "a commit or an error");
    const auto pointer = FindIcechunkPointer(container, ref.at);
    Require(pointer.has_value() == ref.leads_somewhere(), "what was listed", ref.at.Text());
    Require(!pointer || pointer->key == ref.pointer.key, "the same object", ref.at.Text());
    const std::string folder = IcechunkFolderName(ref.at);
    Require(IsValidKey(folder) && folder.find('/') == folder.npos, "the name of a file", folder);
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = zarrfs::Text(data, size);
  const std::string key = "refs/branch." + std::string(zarrfs::CutAt(text, "\n"));
  if (!zarrfs::IsValidKey(key) || key.find('/', sizeof("refs/") - 1) != key.npos) return 0;
  zarrfs::FakeStore container;
  container.Put(key + "/ref.json", text);
  zarrfs::Visit(container);
  return 0;
}
