// In place of functions of glibc that load libraries of the machine, on which a program without
// libraries cannot rely: `ld --wrap` sends their callers here. (The linker warns of each that is
// called all the same, and that is an error.)
#include <grp.h>
#include <netdb.h>
#include <pwd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace {

// The first line of a file that `matches`; null if there is none.
template <typename Entry, typename Matches>
Entry* FindLine(const char* path, Entry* (*next)(FILE*), Matches matches) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (file == nullptr) return nullptr;
  while (Entry* const entry = next(file.get())) {
    if (matches(*entry)) return entry;
  }
  return nullptr;
}

}  // namespace

extern "C" {

// For stackable modules of libfuse's high-level interface, which zarrfs does not use.
void* __wrap_dlopen(const char* /*file*/, int /*mode*/) { return nullptr; }

// From these files alone.
passwd* __wrap_getpwuid(uid_t uid) {
  return FindLine("/etc/passwd", fgetpwent, [uid](const passwd& it) { return it.pw_uid == uid; });
}

passwd* __wrap_getpwnam(const char* name) {
  return FindLine("/etc/passwd", fgetpwent,
                  [name](const passwd& it) { return std::strcmp(it.pw_name, name) == 0; });
}

group* __wrap_getgrnam(const char* name) {
  return FindLine("/etc/group", fgetgrent,
                  [name](const group& it) { return std::strcmp(it.gr_name, name) == 0; });
}

int __wrap_getpwuid_r(uid_t uid, passwd* entry, char* buffer, size_t size, passwd** found) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), &std::fclose);
  *found = nullptr;
  if (file == nullptr) return errno;
  int error = 0;
  while ((error = fgetpwent_r(file.get(), entry, buffer, size, found)) == 0) {
    if (entry->pw_uid == uid) return 0;
  }
  *found = nullptr;
  return error == ENOENT ? 0 : error;
}

// libcurl looks names of hosts up by c-ares, and passes numbers of ports to it; libcrypto's own
// connections are not used.
int __wrap_getaddrinfo(const char* /*host*/, const char* /*service*/, const addrinfo* /*hints*/,
                       addrinfo** /*found*/) {
  return EAI_FAIL;
}
hostent* __wrap_gethostbyname(const char* /*host*/) { return nullptr; }
servent* __wrap_getservbyname(const char* /*name*/, const char* /*protocol*/) { return nullptr; }
int __wrap_getservbyport_r(int /*port*/, const char* /*protocol*/, servent* /*entry*/,
                           char* /*buffer*/, size_t /*size*/, servent** found) {
  *found = nullptr;
  return ENOENT;
}

}  // extern "C"
