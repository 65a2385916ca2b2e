// One page of a listing of S3, as ListObjectsV2 answers it.
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
  bool has_any = false;            // also names that no key can have, such as that of the folder
  std::string continuation;        // of the next page; "" if this is the last one
};

/// `folder`: the key, for messages. kDamaged if the page is not one of the folder: what is not
/// understood must not look like a name that does not exist.
[[nodiscard]] Result<ListingPage> ParseListingPage(std::string_view xml, std::string_view folder);

}  // namespace zarrfs
