// Input: the text that one program of a keeper hands over to the next; records end with NUL.
#include "fs/mount/hand_over.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzzing.h"

namespace zarrfs {
namespace {

// As the next program gets it.
Result<HandOver> Read(std::string_view input) {
  Descriptor file(memfd_create("hand-over", MFD_ALLOW_SEALING));
  Require(write(file.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()),
          "a file in memory");
  const auto text = ReadHandOver(std::move(file));
  RequireOk(text, "a file in memory to be read");
  return ParseHandOver(*text);
}

void TakeOver(std::string_view input) {
  const auto state = Read(input);
  if (!state) return;
  const auto again = ParseHandOver(ToText(*state));
  RequireOk(again, "what was read to be written and read again");
  Require(*again == *state, "the same state");
  // (Their numbers are of descriptors that nobody here has.)
  Require(DescriptorsOf(*state).size() <= 6, "no more descriptors than there are records");
  Require(!CheckInherited(*state), "descriptors that are not there to be missed");
  const auto options = OptionsOf(*state);
  if (options) (void)WithOptions(*options, options->config);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::TakeOver(zarrfs::Text(data, size));
  return 0;
}
