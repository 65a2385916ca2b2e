#include "zarrcore/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace zarrfs::result_test {
namespace {

TEST(ResultTest, ReaderSeesDamageAndUnreadableStoreAsInputOutputError) {
  EXPECT_EQ(ToErrno(ErrorCode::kDamaged), EIO);
  EXPECT_EQ(ToErrno(ErrorCode::kIo), EIO);
}

TEST(ResultTest, ReaderSeesTheMatchingErrno) {
  EXPECT_EQ(ToErrno(ErrorCode::kNotFound), ENOENT);
  EXPECT_EQ(ToErrno(ErrorCode::kPermissionDenied), EACCES);
  EXPECT_EQ(ToErrno(ErrorCode::kStale), ESTALE);
  EXPECT_EQ(ToErrno(ErrorCode::kInterrupted), EINTR);
  EXPECT_EQ(ToErrno(ErrorCode::kTimedOut), ETIMEDOUT);
}

TEST(ResultTest, ErrnoOfTheSystemBecomesItsCode) {
  EXPECT_EQ(FromErrno(ENOENT), ErrorCode::kNotFound);
  EXPECT_EQ(FromErrno(EACCES), ErrorCode::kPermissionDenied);
  EXPECT_EQ(FromErrno(EPERM), ErrorCode::kPermissionDenied);
  EXPECT_EQ(FromErrno(ENFILE), ErrorCode::kTooManyOpenFiles);
  EXPECT_EQ(FromErrno(ESTALE), ErrorCode::kStale);
}

TEST(ResultTest, ErrnoWithoutCodeIsAnInputOutputErrorAndNotDamage) {
  EXPECT_EQ(FromErrno(EIO), ErrorCode::kIo);
  EXPECT_EQ(FromErrno(EREMOTEIO), ErrorCode::kIo);
  EXPECT_EQ(FromErrno(EAGAIN), ErrorCode::kIo) << "nothing would ask again";
  EXPECT_EQ(FromErrno(EINTR), ErrorCode::kIo);
}

TEST(ResultTest, FailureIsHandedOnWithCodeAndMessage) {
  const Result<int> first = Fail(ErrorCode::kDamaged, "{}: expected {}, found {}", "a/c/0", 4, 3);
  const Result<void> second = Fail(first);
  EXPECT_EQ(second.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(second.error().message, "a/c/0: expected 4, found 3");
  EXPECT_EQ(ToString(second.error().code), "damaged");
}

}  // namespace
}  // namespace zarrfs::result_test
