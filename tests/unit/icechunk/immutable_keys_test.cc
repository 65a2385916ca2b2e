#include "zarrcore/icechunk/immutable_keys.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "tests/unit/support/icechunk_writer.h"

namespace zarrfs::immutable_keys_test {
namespace {

constexpr std::string_view kId = "1CECHNKREP0F1RSTCMT0";

void Learn(ImmutableKeys& keys, std::string_view key, std::string_view bytes) {
  keys.Learn(key, std::as_bytes(std::span(bytes)));
}

TEST(ImmutableKeysTest, AreThoseOfARepositoryOnceItsOwnObjectsSaySo) {
  const std::string ref = fmt::format(R"({{"snapshot":"{}"}})", kId);
  const std::string repo = IcechunkHeader(IcechunkFileType::kRepo);
  for (const auto& [key, bytes] : {std::pair<std::string_view, std::string_view>{"repo", repo},
                                   {"refs/branch.main/ref.json", ref}}) {
    ImmutableKeys keys;
    const std::string chunk = fmt::format("chunks/{}", kId);
    EXPECT_FALSE(keys.Has(chunk)) << "nothing is known";
    Learn(keys, "repo", "PK");
    Learn(keys, "refs/branch.main/ref.json", "<html>");
    Learn(keys, "zarr.json", repo);
    Learn(keys, "a/ref.json", ref);
    EXPECT_FALSE(keys.Has(chunk)) << "nothing of a repository";
    Learn(keys, key, bytes);
    EXPECT_TRUE(keys.Has(chunk));
    EXPECT_TRUE(keys.Has(fmt::format("manifests/{}", kId)));
    EXPECT_TRUE(keys.Has(fmt::format("snapshots/{}", kId)));
    Learn(keys, "repo", "PK");
    EXPECT_TRUE(keys.Has(chunk));
    for (const std::string& moving :
         {std::string("repo"), std::string("refs/branch.main/ref.json"), std::string("chunks/x"),
          fmt::format("a/chunks/{}", kId), fmt::format("refs/{}", kId), fmt::format("{}", kId),
          fmt::format("chunks/{}/x", kId), fmt::format("chunks/{}0", kId)}) {
      EXPECT_FALSE(keys.Has(moving)) << moving;
    }
  }
}

}  // namespace
}  // namespace zarrfs::immutable_keys_test
