// Programs that a process of a mount becomes, by exec(2) of a file that is already open: the next
// program of a keeper (upgrade.h), and its workers (worker_start.h). What they need they find in a
// memory file (fs/mount/hand_over.h), whose number is their second word, and in inherited
// descriptors.
#pragma once

#include <string>
#include <vector>

#include "fs/mount/hand_over.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The file of the program that runs, also once its name stands for another one. Empty, with errno,
/// if it cannot be opened. Call before the working folder changes.
[[nodiscard]] Descriptor OpenThisProgram();

/// argv[0]; the first word of what is executed.
[[nodiscard]] std::string NameOfThisProgram();

/// The memory file for the next program. Empty, with errno, on failure.
[[nodiscard]] Descriptor WriteDown(const HandOver& state);

/// Reads a memory file whose number is that word, and closes it.
[[nodiscard]] Result<HandOver> Take(const char* number);

void SetInherited(int fd, bool inherited);

/// Becomes the program. Returns on failure, with errno.
void Execute(const Descriptor& program, std::vector<std::string> words);

/// Ends the process, with what was logged. No destructors run: threads that are stuck in a request
/// still use the objects.
[[noreturn]] void EndProcess(int code);

}  // namespace zarrfs
