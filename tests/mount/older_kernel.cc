#include "tests/mount/older_kernel.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace zarrfs {

int RunOnOlderKernel(int argc, char** argv) {
  if (argc < 2) return 2;
  constexpr uint32_t kBeneath = 0x200;
  constexpr uint32_t kFlags = offsetof(seccomp_data, args) + 4 * sizeof(uint64_t);
  const bool without_fsopen = std::string_view(argv[0]) == kWithoutFsopen;
  std::array<sock_filter, 6> beneath = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_mount, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kBeneath, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  std::array<sock_filter, 4> fsopen = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsopen, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program =
      without_fsopen ? sock_fprog{fsopen.size(), fsopen.data()}
                     : sock_fprog{static_cast<unsigned short>(beneath.size()), beneath.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) execvp(argv[1], argv + 1);
  std::perror(argv[0]);
  return 126;
}

}  // namespace zarrfs
