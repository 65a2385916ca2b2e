// Remembers what a store behind a network has answered, so that those who need the same soon after
// each other ask for it once: the metadata documents of nodes, the version of an object that was
// listed or asked for without its bytes, that an object or folder does not exist, and listings of
// one page. The first bytes of an object that is opened are requested with it and kept for its
// reader (open/first_bytes.h).
//
// A remembered answer is given to those who accept one of its age (base/answer_age.h). Where a
// document is asked for again, and only its attributes are needed, one request finds out whether
// its version is still the same.
#pragma once

#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// `is_listed`: whether the store can list its folders. In one that cannot, a folder exists if it
/// has a document of a node. `keeps_first_bytes`: whether opening an object, by Read() of an empty
/// range, requests its first bytes; false if a cache below may have them.
[[nodiscard]] std::shared_ptr<Store> RememberAnswers(const std::shared_ptr<const Store>& store,
                                                     bool is_listed, bool keeps_first_bytes = true);

/// The store `store` without remembered answers, for a layer with its own rules for how long
/// answers hold.
[[nodiscard]] std::shared_ptr<Store> WithNewAnswers(std::shared_ptr<const Store> store);

}  // namespace zarrfs
