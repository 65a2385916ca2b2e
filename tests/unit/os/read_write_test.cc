#include "zarrcore/os/read_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

namespace zarrfs::read_write_test {
namespace {

TEST(ReadWrite, AllOfItOrNothing) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const Descriptor fd(dup(fileno(file)));
  std::fclose(file);
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  std::vector<std::byte> read(bytes.size());
  EXPECT_TRUE(WriteAll(fd, 5, bytes));
  EXPECT_TRUE(ReadAll(fd, 5, read));
  EXPECT_EQ(read, bytes);
  EXPECT_FALSE(ReadAll(fd, 6, read)) << "the file ends before";
  EXPECT_FALSE(WriteAll(-1, bytes));
  EXPECT_EQ(errno, EBADF);
}

// The test writes more than the buffer of a pipe holds.
TEST(ReadWrite, APipeIsWrittenInPieces) {
  int ends[2] = {};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const std::vector<std::byte> bytes(1u << 20, std::byte{9});
  size_t got = 0;
  std::thread reader([&] {
    std::vector<std::byte> piece(1000);
    for (ssize_t count = 0; (count = read(from.get(), piece.data(), piece.size())) > 0;) {
      got += static_cast<size_t>(count);
    }
  });
  EXPECT_TRUE(WriteAll(to.get(), bytes));
  to.reset();
  reader.join();
  EXPECT_EQ(got, bytes.size());
}

}  // namespace
}  // namespace zarrfs::read_write_test
