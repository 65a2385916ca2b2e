#include "fs/tree/assembled_reader.h"

#include <gtest/gtest.h>

namespace zarrfs::assembled_reader_test {
namespace {

using State = SequentialReaders::State;

constexpr uint64_t kPiece = 128 << 10;
constexpr uint64_t kVersion = 3;
constexpr uint64_t kFar = uint64_t{1} << 30;

TEST(SequentialReaders, CountsWhatIsReadInOrder) {
  SequentialReaders readers;
  EXPECT_EQ(readers.OnRead(kVersion, 0, kPiece).run, kPiece);
  EXPECT_EQ(readers.OnRead(kVersion, kPiece, kPiece).run, 2 * kPiece);
  // The kernel reads ahead on several threads.
  EXPECT_EQ(readers.OnRead(kVersion, 3 * kPiece, kPiece).run, 3 * kPiece);
  EXPECT_EQ(readers.OnRead(kVersion, 2 * kPiece, kPiece).run, 4 * kPiece);
  EXPECT_EQ(readers.OnRead(kVersion, 4 * kPiece, kPiece).run, 5 * kPiece);
}

TEST(SequentialReaders, WhoReadsElsewhereOrAnotherVersionIsAnotherReader) {
  SequentialReaders readers;
  const auto first = readers.OnRead(kVersion, 0, kPiece);
  const auto far = readers.OnRead(kVersion, kFar, kPiece);
  const auto other = readers.OnRead(kVersion + 1, kPiece, kPiece);
  EXPECT_EQ(far.run, kPiece);
  EXPECT_EQ(other.run, kPiece);
  EXPECT_NE(first.id, far.id);
  EXPECT_NE(first.id, other.id);
  EXPECT_EQ(readers.OnRead(kVersion, kPiece, kPiece).id, first.id);
}

TEST(SequentialReaders, AWindowIsMadeOnceForAReader) {
  SequentialReaders readers;
  const uint64_t reader = readers.OnRead(kVersion, 0, kPiece).id;
  EXPECT_EQ(readers.Begin(reader, 0), State::kNew);
  EXPECT_EQ(readers.Begin(reader, 0), State::kUnderWay);
  readers.End(reader, 0, true);
  EXPECT_EQ(readers.Begin(reader, 0), State::kMade) << "so it was evicted";
  EXPECT_EQ(readers.Begin(reader, kPiece), State::kNew);
  readers.End(reader, kPiece, false);
  EXPECT_EQ(readers.Begin(reader, kPiece), State::kFailed);
}

TEST(SequentialReaders, WhatTheReaderHasPassedIsNotMadeAgain) {
  SequentialReaders readers;
  const uint64_t reader = readers.OnRead(kVersion, 0, kPiece).id;
  for (uint64_t window = 0; window < 3; ++window) {
    EXPECT_EQ(readers.Begin(reader, window * kPiece), State::kNew);
    readers.End(reader, window * kPiece, window != 1);
  }
  EXPECT_EQ(readers.Pass(reader, 2 * kPiece), (std::vector<uint64_t>{0}));
  EXPECT_EQ(readers.Begin(reader, 0), State::kFailed);
  EXPECT_EQ(readers.Begin(reader, kPiece), State::kFailed);
  EXPECT_EQ(readers.Begin(reader, 2 * kPiece), State::kMade);
  EXPECT_TRUE(readers.Pass(reader, 2 * kPiece).empty());
}

TEST(SequentialReaders, AReaderThatWasForgottenGetsNothing) {
  SequentialReaders readers;
  const uint64_t reader = readers.OnRead(kVersion, 0, kPiece).id;
  for (uint64_t at = 1; at <= 8; ++at) (void)readers.OnRead(kVersion, at * kFar, kPiece);
  EXPECT_EQ(readers.Begin(reader, 0), State::kFailed);
  EXPECT_TRUE(readers.Pass(reader, kFar).empty());
}

}  // namespace
}  // namespace zarrfs::assembled_reader_test
