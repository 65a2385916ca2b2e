// A small store in memory, and what a command of zarrctl prints about it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

inline constexpr std::string_view kGroup = R"({"zarr_format": 3, "node_type": "group"})";

/// A group with the arrays "a", whose four chunks lie in the folders a/c/0 and a/c/1, and "b",
/// which has one chunk, b/c.0.
inline std::shared_ptr<FakeStore> SmallStore() {
  auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", kGroup);
  store->Put("a/zarr.json", ArrayText("[4, 4]", "[2, 2]", kBytesCodec));
  for (const char* chunk : {"a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1"}) store->Put(chunk, "wxyz");
  store->Put("b/zarr.json", ArrayText("[2]", "[2]", kBytesCodec,
                                      R"({"chunk_key_encoding": {"name": "default",
                                                  "configuration": {"separator": "."}}})"));
  store->Put("b/c.0", "yz");
  return store;
}

struct Outcome {
  int code = 0;
  std::string out;
};

/// What `command` prints of the whole store, and its exit code.
template <typename Options>
Outcome RunOnStore(int (*command)(const TargetNode&, const Options&),
                   const std::shared_ptr<FakeStore>& store, Options options = {}) {
  TargetNode target{Source("/store"),
                    std::make_unique<Hierarchy>(store, HierarchyOptions{}, nullptr), nullptr};
  auto root = target.hierarchy->Get("", kAnyAge);
  EXPECT_TRUE(root);
  if (!root) return {};
  target.node = *root;
  testing::internal::CaptureStdout();
  Outcome outcome;
  outcome.code = command(target, options);
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  return outcome;
}

template <typename Options>
Outcome RunForJson(int (*command)(const TargetNode&, const Options&),
                   const std::shared_ptr<FakeStore>& store) {
  Options options;
  options.json = true;
  return RunOnStore(command, store, options);
}

}  // namespace zarrfs::ctl
