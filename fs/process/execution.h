// Executes a program in a child of the keeper, from a file that is already open. The program is a
// worker (worker_start.h), a fetcher (fetcher_start.h), or the trial of a newer program
// (upgrade.h). Its state is in inherited descriptors and in a memory file
// (fs/mount/start_message.h). Its second argument is the descriptor number of the memory file.
#pragma once

#include <string>
#include <string_view>

#include "fs/mount/start_message.h"
#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Opens the program file of this process, even if the file's path now leads to another file. On
/// failure the result is empty, and errno is set. Call before the working folder changes.
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
/// Reads the start message in the executed program, from the memory file with the descriptor number
/// `number`. Fails if `check` rejects the message.
[[nodiscard]] Result<ProgramStart> TakeStart(const char* number,
                                             Result<void> (*check)(const StartMessage&));

/// Flushes the log and ends the process. No destructors run, because a thread that is stuck in a
/// request may still use the objects.
[[noreturn]] void EndProcess(int code);

}  // namespace zarrfs
