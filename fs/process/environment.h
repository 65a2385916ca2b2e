// What the processes of a mount keep of the environment of their caller.
#pragma once

namespace zarrfs {

/// Overwrites and removes every variable except those that this process may still need: of the time
/// zone, the language, the allocator, the loader and the log, and those that DefaultMemory() reads;
/// in programs with a sanitizer also its own. Keys and tokens of the caller are in none of them.
/// The process must have one thread.
void ForgetEnvironment();

}  // namespace zarrfs
