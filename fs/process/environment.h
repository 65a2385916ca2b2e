// Clears the environment that the processes of a mount inherit from the caller, except for a few
// variables.
#pragma once

namespace zarrfs {

/// Overwrites and removes every variable except the variables that this process may still need:
/// those of the time zone, the language, the allocator, the loader, the log, DefaultMemory(), and,
/// in sanitizer builds, the sanitizer. No remaining variable holds keys or tokens of the caller.
/// The process must have one thread.
void ForgetEnvironment();

}  // namespace zarrfs
