#include "zarrcore/os/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace zarrfs::descriptor_test {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }
Descriptor OpenNull() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(DescriptorTest, ClosesInItsDestructor) {
  int fd = -1;
  {
    const Descriptor null = OpenNull();
    ASSERT_TRUE(null);
    fd = null.get();
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(DescriptorTest, AssignmentClosesTheOldOneAtOnce) {
  Descriptor first = OpenNull();
  Descriptor second = OpenNull();
  const int old_fd = first.get();
  const int new_fd = second.get();
  first = std::move(second);
  EXPECT_FALSE(IsOpen(old_fd));
  EXPECT_TRUE(IsOpen(new_fd));
  EXPECT_EQ(first.get(), new_fd);
}

TEST(DescriptorTest, ReleaseLeavesItOpen) {
  Descriptor null = OpenNull();
  const int fd = null.release();
  EXPECT_FALSE(null);
  EXPECT_TRUE(IsOpen(fd));
  close(fd);
}

TEST(DescriptorTest, ClosingLeavesErrnoForTheCaller) {
  Descriptor closed(9999);  // not open, so close(2) fails with EBADF
  errno = ENOENT;
  closed.reset();
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace zarrfs::descriptor_test
