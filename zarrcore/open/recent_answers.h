// RecentAnswers: remembers recent answers of a store behind a network, so callers that need the
// same answer within a short time share one request. Remembered answers are the metadata documents
// of nodes, the version of an object that was listed or opened, the absence of an object or folder,
// and listings of at most 1000 names. When an object is opened, its first bytes are requested, too,
// and cached for its reader (open/first_bytes.h). Holds up to 16 MiB of documents, 16 MiB of first
// bytes and 4 MiB of listings.
//
// A caller gets a remembered answer if it accepts the answer's age (base/answer_age.h). If the
// answer is too old, and only the attributes of a document are needed, one request for one byte
// checks whether the document's version is still the same.
#pragma once

#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// `is_listed`: true if the store can list its folders. If it cannot, a folder exists if it
/// contains a document of a node. `keeps_first_bytes`: true if opening an object, which is a Read()
/// of an empty range, requests its first bytes; false if a cache below this store may have the
/// bytes.
[[nodiscard]] std::shared_ptr<Store> RememberAnswers(const std::shared_ptr<const Store>& store,
                                                     bool is_listed, bool keeps_first_bytes = true);

/// Wraps `store` so that callers get no remembered answers. For stores such as Icechunk's that
/// decide themselves how long an answer is valid.
[[nodiscard]] std::shared_ptr<Store> WithNewAnswers(std::shared_ptr<const Store> store);

}  // namespace zarrfs
