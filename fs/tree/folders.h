// Folders: opens the folders of a mount and finds their entries, except chunk files
// (chunk_files.h). Thread-safe.
#pragma once

#include <memory>

#include "fs/tree/entries.h"
#include "fs/tree/folder.h"
#include "fs/tree/nodes.h"
#include "fs/tree/status_files.h"
#include "fs/tree/timeouts.h"

namespace zarrfs {

class Folders {
 public:
  Folders(Nodes& nodes, const Contents& contents, const Entries& entries, const Timeouts& timeouts,
          FailureLog& failures, uint64_t consolidated_max)
      : nodes_(nodes),
        contents_(contents),
        entries_(entries),
        timeouts_(timeouts),
        failures_(failures),
        consolidated_max_(consolidated_max) {}

  /// Opens a folder. Fails if its contents cannot be read, because the folder must not look empty.
  [[nodiscard]] Result<std::unique_ptr<Folder>> Open(const Target& target) const;
  [[nodiscard]] std::unique_ptr<Folder> OpenStatus(const StatusFiles& files) const;

 private:
  // Returns the part of a folder that lists the chunks of an array below a prefix, as chunk files
  // or as folders. Null if it has nothing to list.
  Result<std::unique_ptr<FolderPart>> ChunksBelow(const CurrentNode& node,
                                                  const Target& target) const;

  Nodes& nodes_;
  const Contents& contents_;
  const Entries& entries_;
  const Timeouts& timeouts_;
  FailureLog& failures_;
  const uint64_t consolidated_max_;
};

}  // namespace zarrfs
