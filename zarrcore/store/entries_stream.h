// EntriesStream: streams a listing that is already complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class EntriesStream final : public FolderStream {
 public:
  using Entries = std::vector<ListEntry>;

  explicit EntriesStream(std::shared_ptr<const Entries> entries) : entries_(std::move(entries)) {}
  explicit EntriesStream(Entries entries)
      : EntriesStream(std::make_shared<const Entries>(std::move(entries))) {}

  Result<Entries> Next(size_t count) override {
    const auto begin = entries_->begin() + static_cast<ptrdiff_t>(next_);
    const size_t some = std::min(count, entries_->size() - next_);
    next_ += some;
    return Entries(begin, begin + static_cast<ptrdiff_t>(some));
  }

 private:
  const std::shared_ptr<const Entries> entries_;
  size_t next_ = 0;
};

}  // namespace zarrfs
