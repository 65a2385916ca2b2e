#include "zarrcore/local/access_lists.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace zarrfs::access_lists_test {
namespace {

enum : uint16_t { kOwner = 1, kUser = 2, kOwningGroup = 4, kGroup = 8, kMask = 16, kOther = 32 };

struct Entry {
  uint16_t tag;
  uint16_t bits;
};

std::vector<std::byte> List(const std::vector<Entry>& entries) {
  std::vector<std::byte> bytes = {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}};
  for (const auto& [tag, bits] : entries) {
    for (const uint16_t number : {tag, bits}) {
      bytes.push_back(static_cast<std::byte>(number & 0xff));
      bytes.push_back(static_cast<std::byte>(number >> 8));
    }
    bytes.insert(bytes.end(), 4, std::byte{7});
  }
  return bytes;
}

TEST(AccessLists, GrantAClassOnlyTheBitsOfAllItsMembers) {
  struct Case {
    const char* what;
    std::vector<Entry> entries;
    uint32_t mask;
  };
  const Case cases[] = {
      {"plain", {{kOwner, 7}, {kOwningGroup, 5}, {kOther, 4}}, 0754},
      {"chmod 600, u:bob:r",
       {{kOwner, 6}, {kUser, 4}, {kOwningGroup, 0}, {kMask, 4}, {kOther, 0}},
       0700},
      {"u:dave:---", {{kOwner, 7}, {kUser, 0}, {kOwningGroup, 5}, {kMask, 5}, {kOther, 5}}, 0700},
      {"g:lab:r of 0755",
       {{kOwner, 7}, {kOwningGroup, 5}, {kGroup, 4}, {kMask, 5}, {kOther, 5}},
       0744},
      {"a mask alone", {{kOwner, 7}, {kOwningGroup, 7}, {kMask, 4}, {kOther, 5}}, 0745},
      {"a named entry beyond the mask",
       {{kOwner, 7}, {kUser, 7}, {kOwningGroup, 7}, {kMask, 4}, {kOther, 7}},
       0744},
      {"nothing for the others", {{kOwner, 7}}, 0700},
  };
  for (const auto& [what, entries, mask] : cases) {
    EXPECT_EQ(MaskOfAccessList(List(entries)), mask) << what;
  }
}

TEST(AccessLists, AnInvalidListLeavesOnlyTheOwnersBits) {
  std::vector<std::byte> bytes = List({{kOwningGroup, 7}, {kOther, 7}});
  EXPECT_EQ(MaskOfAccessList(bytes), 0777U);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const uint32_t mask = MaskOfAccessList(std::span(bytes).first(length));
    EXPECT_EQ(mask & 0007, 0U) << length;
  }
  bytes[0] = std::byte{3};
  EXPECT_EQ(MaskOfAccessList(bytes), 0700U) << "another version";
  EXPECT_EQ(MaskOfAccessList(List({{kOwningGroup, 7}, {kOther, 7}, {0x40, 7}})), 0700U);
}

}  // namespace
}  // namespace zarrfs::access_lists_test
