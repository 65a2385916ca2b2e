// Input: the start message that a keeper gives to a program. Records end with NUL.
#include "fs/mount/start_message.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzzing.h"

namespace zarrfs {
namespace {

// Reads the message from a memory file, as the program does.
Result<StartMessage> Read(std::string_view input) {
  Descriptor file(memfd_create("start", MFD_ALLOW_SEALING));
  Require(write(file.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()),
          "a file in memory");
  const auto text = ReadStartMessage(std::move(file));
  RequireOk(text, "a file in memory to be read");
  return ParseStartMessage(*text);
}

void Begin(std::string_view input) {
  const auto state = Read(input);
  if (!state) return;
  const auto again = ParseStartMessage(ToText(*state));
  RequireOk(again, "what was read to be written and read again");
  Require(*again == *state, "the same state");
  // Only counts the descriptors, because this process does not have them.
  Require(DescriptorsOf(*state).size() <= 9, "no more descriptors than there are records");
  Require(!CheckWorkerStart(*state) && !CheckFetcherStart(*state) && !CheckTrialStart(*state),
          "a program with another parent to be refused");
  StartMessage same = *state;
  SetSecrets(SecretsOf(*state), same);
  Require(SecretsOf(same) == SecretsOf(*state), "the same secrets");
  const auto options = OptionsOf(*state);
  if (options) (void)WithOptions(*options, options->config);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::Begin(zarrfs::Text(data, size));
  return 0;
}
