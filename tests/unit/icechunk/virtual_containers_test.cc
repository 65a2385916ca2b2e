#include "zarrcore/icechunk/virtual_containers.h"

#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/support/fake_store.h"

namespace zarrfs::virtual_containers_test {
namespace {

std::string Config() {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("inline_chunk_threshold_bytes", 512);
    builder.Map("virtual_chunk_containers", [&] {
      builder.Map("s3://b/", [&] {
        builder.String("name", "ocean");
        builder.String("url_prefix", "s3://b/run7/");
        builder.String("store", "ignored");
      });
      builder.Map("file:///a/", [&] {
        builder.Null("name");
        builder.String("url_prefix", "file:///a/");
      });
      builder.Map("file:///x", [&] {
        builder.String("name", "open");
        builder.String("url_prefix", "file:///x");
      });
      builder.Int("number", 1);
    });
  });
  builder.Finish();
  const auto& bytes = builder.GetBuffer();
  return {bytes.begin(), bytes.end()};
}

TEST(VirtualContainersTest, NamesAndPrefixesAreThoseOfTheConfiguration) {
  const auto prefixes = ParseIcechunkConfig(Config());
  ASSERT_TRUE(prefixes) << prefixes.error().message;
  EXPECT_EQ(*prefixes, (IcechunkPrefixes{{"ocean", "s3://b/run7/"}, {"open", "file:///x"}}));
  EXPECT_TRUE(ParseIcechunkConfig("")->empty());
}

TEST(VirtualContainersTest, ADamagedConfigurationIsAnErrorOrHasOtherNames) {
  const std::string config = Config();
  for (size_t at = 0; at < config.size(); ++at) {
    for (const char flip : {'\x01', '\x04', '\x80', '\xFF'}) {
      std::string changed = config;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto prefixes = ParseIcechunkConfig(changed);
      EXPECT_TRUE(prefixes || prefixes.error().code == ErrorCode::kDamaged) << at;
    }
    (void)ParseIcechunkConfig(config.substr(at));
  }
  EXPECT_EQ(ParseIcechunkConfig(std::string(kMaxIcechunkConfig + 1, 'x')).error().code,
            ErrorCode::kTooLarge);
}

TEST(VirtualContainersTest, OtherLocationsStayAndNothingIsRead) {
  const IcechunkContainers containers(std::make_shared<FakeStore>());
  EXPECT_EQ(containers.Resolve("s3://b/x.nc").value_or(""), "s3://b/x.nc");
  EXPECT_FALSE(IcechunkContainers::IsNamed("s3://b/x.nc"));
  EXPECT_TRUE(IcechunkContainers::IsNamed("vcc://ocean/x.nc"));
  const auto named = containers.Resolve("vcc://ocean/x.nc");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kUnsupported) << "it is no repository of version 2";
}

}  // namespace
}  // namespace zarrfs::virtual_containers_test
