// Input: the text that one program of a keeper hands over to the next; records end with NUL.
#include "fs/daemon/hand_over.h"

#include "tests/fuzz/fuzzing.h"

namespace zarrfs {
namespace {

void TakeOver(std::string_view input) {
  const auto state = ParseHandOver(input);
  if (!state) return;
  const auto again = ParseHandOver(ToText(*state));
  RequireOk(again, "what was read to be written and read again");
  Require(*again == *state, "the same state");
  // (Their numbers are of descriptors that nobody here has.)
  Require(DescriptorsOf(*state).size() <= 6, "no more descriptors than there are records");
  (void)OptionsOf(*state);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::TakeOver(zarrfs::Text(data, size));
  return 0;
}
