// Executes a program in a child of the keeper, from a file that is already open: workers
// (worker_start.h), fetchers (fetcher_start.h), and the trial of a newer program (upgrade.h). Each
// program gets its state in inherited descriptors and in a memory file (fs/mount/start_message.h);
// the number of the memory file is its second argument.
#pragma once

#include <string>
#include <string_view>

#include "fs/mount/start_message.h"
#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Opens the file of the running program, even if its path now leads to another file. Empty, with
/// errno set, if it cannot be opened. Call before the working folder changes.
[[nodiscard]] Descriptor OpenThisProgram();

/// The argv[0] of this process, which is also the argv[0] of the programs that it executes.
[[nodiscard]] std::string NameOfThisProgram();

/// Executes `program` in a child of the keeper. `word` is its first argument, and `state` is passed
/// in a memory file. Returns only on failure, with errno set.
void ExecuteWith(const Descriptor& program, std::string_view word, const StartMessage& state);

struct ProgramStart {
  StartMessage state;
  MountOptions options;
};
/// Reads the start message from the memory file with the number `number`, in the executed program.
/// Fails if `check` does not accept the message.
[[nodiscard]] Result<ProgramStart> TakeStart(const char* number,
                                             Result<void> (*check)(const StartMessage&));

/// Ends the process after flushing its log. No destructors run, because threads that are stuck in a
/// request still use the objects.
[[noreturn]] void EndProcess(int code);

}  // namespace zarrfs
