// In place of functions of glibc that load libraries of the machine, on which a program without
// libraries cannot rely: `ld --wrap` sends their callers here. (The linker warns of each that is
// called all the same, and that is an error.)
#include <pwd.h>

#include <cstdio>
#include <memory>

extern "C" {

// For stackable modules of libfuse's high-level interface, which zarrfs does not use.
void* __wrap_dlopen(const char* /*file*/, int /*mode*/) { return nullptr; }

// From /etc/passwd alone.
passwd* __wrap_getpwuid(uid_t uid) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), &std::fclose);
  if (file == nullptr) return nullptr;
  while (passwd* entry = fgetpwent(file.get())) {
    if (entry->pw_uid == uid) return entry;
  }
  return nullptr;
}

}  // extern "C"
