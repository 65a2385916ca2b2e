// Parses a page of an S3 listing, which is the response of ListObjectsV2.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct ListingPage {
  std::vector<ListEntry> entries;  // the names directly below the folder
  // The version of each of the `entries`, as a request for the object would return it; nullopt for
  // folders, and for objects without a strong ETag.
  std::vector<std::optional<Version>> versions;
  // True if the page names anything below the folder, even if the name is not a valid key, or the
  // folder's own key.
  bool has_any = false;
  std::string continuation;  // the token of the next page; "" for the last page
};

/// Parses a page of the listing of `folder`. kDamaged if `xml` is not a listing of this folder,
/// because a malformed page must not make names look absent.
[[nodiscard]] Result<ListingPage> ParseListingPage(std::string_view xml, std::string_view folder);

}  // namespace zarrfs
