// One page of an S3 listing, the response of ListObjectsV2.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct ListingPage {
  std::vector<ListEntry> entries;  // names directly below the folder
  bool has_any = false;      // including names that are not valid keys, such as the folder's own
  std::string continuation;  // of the next page; "" if this is the last one
};

/// `folder`: the key, for messages. kDamaged if the page is not one of the folder: a malformed page
/// must not make names look absent.
[[nodiscard]] Result<ListingPage> ParseListingPage(std::string_view xml, std::string_view folder);

}  // namespace zarrfs
