// Options as a command line gives them, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/options/command_line.h"

namespace zarrfs {

/// The command line `zarrfs WORDS`.
inline Result<CommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "/usr/bin/zarrfs");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

/// Those of `zarrfs src mnt -o LIST`, which must be right.
inline MountOptions Options(const char* list) {
  const auto line = Parse({"src", "mnt", "-o", list});
  EXPECT_TRUE(line) << list << ": " << line.error().message;
  return line ? line->options : MountOptions();
}

/// The error of the same command line, "" if it is right.
inline std::string ErrorOf(const char* list) {
  const auto line = Parse({"src", "mnt", "-o", list});
  return line ? "" : line.error().message;
}

}  // namespace zarrfs
